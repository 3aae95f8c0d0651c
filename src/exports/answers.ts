// The answers of entries as rows of their own: one for each answer, and for several choices one for each chosen word.
import { Entry } from '../../schemas/entries.js'
import { AnswerRow } from '../../schemas/exports.js'
import { listedSchemas } from '../../schemas/index.js'
import { select } from '../../schemas/kit.js'
import { type BsonDocument, Bytes, type Element, elements } from '../core/bson/reader.js'
import { itemsOf, lastFieldOf, present } from '../core/bson/values.js'
import { type ColumnFormat, type Kind, ROW } from '../core/write/columns.js'
import type { Output } from '../core/write/output.js'
import type { RowFormat } from '../core/write/rows.js'
import type { Write } from '../core/write/scalars.js'
import { compileDocuments, locatingErrors, writeValue } from '../core/write/writer.js'

/** Finds what does not fit. Numbers fit, as with `answers=list`. */
const check = compileDocuments({ schema: select(Entry, ['id', 'answers']), named: listedSchemas })

export const answersTable = (format: ColumnFormat) => {
  const columns = Object.entries(AnswerRow.properties).map(([name, schema]) => ({ name, schema }))
  const names = columns.map(({ name }) => name)
  const text: Write = (input, type, at, output, to) =>
    format.finish(output, to, format.raw(input, type, at, output, to), at)

  const write = (entry: BsonDocument, out: Output): void => {
    const first = out.length
    check(entry, out)
    out.length = first
    const { bytes } = entry
    const input = new Bytes(bytes)
    const label = (name: string, kind: Kind) =>
      out.text(format.label(name, names.indexOf(name), kind).replaceAll(ROW, String(format.rowNumber?.())))
    const put = (name: string, value: Element | undefined): void => {
      if (value === undefined) out.text(format.missing)
      else {
        label(name, 'text')
        locatingErrors(entry, () => writeValue(text, input, value, out))
      }
    }
    let position = 0
    for (const answer of elements(bytes, (lastFieldOf(bytes, 0, 'answers') as Element).at)) {
      position += 1
      // Without a word there is one row, so that no question is lost.
      const value = present(lastFieldOf(bytes, answer.at, 'answer'))
      const words = value === undefined ? [] : [...itemsOf(bytes, value)]
      for (const word of words.length > 0 ? words : [undefined]) {
        put('entry', lastFieldOf(bytes, 0, '_id'))
        label('position', 'number')
        out.text(format.number(position))
        for (const name of ['type', 'question']) put(name, lastFieldOf(bytes, answer.at, name))
        put('answer', word)
        out.text(format.end())
      }
    }
  }
  return { columns, rows: { begin: format.header(names), write } satisfies RowFormat }
}
