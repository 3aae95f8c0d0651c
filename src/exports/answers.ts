// The answers of entries as rows of their own: one for each answer, and for several choices one for each chosen word. An entry
// may become much more than it is stored in, so its rows are written in slices.
import { Entry } from '../../schemas/entries.js'
import { AnswerRow } from '../../schemas/exports.js'
import { listedSchemas } from '../../schemas/index.js'
import { select } from '../../schemas/kit.js'
import { type BsonDocument, Bytes, type Element, elements } from '../core/bson/reader.js'
import { itemsOf, lastFieldOf, present } from '../core/bson/values.js'
import type { ColumnFormat, Kind } from '../core/write/columns.js'
import type { Output } from '../core/write/output.js'
import type { RowFormat } from '../core/write/rows.js'
import type { Write } from '../core/write/scalars.js'
import { compileDocuments, locatingErrors, writeValue } from '../core/write/writer.js'

/** How many bytes are written before other work goes on. */
const SLICE_BYTES = 256 * 1024

/** Finds what does not fit. Numbers fit, as with `answers=list`. */
const check = compileDocuments({ schema: select(Entry, ['id', 'answers']), named: listedSchemas })

export const answersTable = (format: ColumnFormat) => {
  const columns = Object.entries(AnswerRow.properties).map(([name, schema]) => ({ name, schema }))
  const label = (name: string, kind: Kind) => format.label(name, name === 'entry', kind)
  const text: Write = (input, type, at, output, to) =>
    format.finish(output, to, format.raw(input, type, at, output, to), at)

  function* write(entry: BsonDocument, out: Output): Generator<void> {
    const first = out.length
    check(entry, out)
    out.length = first
    const { bytes } = entry
    const input = new Bytes(bytes)
    const put = (name: string, value: Element | undefined): void => {
      out.text(value === undefined ? format.missing : label(name, 'text'))
      if (value !== undefined) locatingErrors(entry, () => writeValue(text, input, value, out))
    }
    let [position, slice] = [0, first]
    for (const answer of elements(bytes, (lastFieldOf(bytes, 0, 'answers') as Element).at)) {
      position += 1
      const begin = out.length
      put('entry', lastFieldOf(bytes, 0, '_id'))
      out.text(`${label('position', 'number')}${format.number(position)}`)
      for (const name of ['type', 'question']) put(name, lastFieldOf(bytes, answer.at, name))
      const end = out.length
      // Without a word there is one row, so that no question is lost.
      const value = present(lastFieldOf(bytes, answer.at, 'answer'))
      const words = value === undefined ? [] : [...itemsOf(bytes, value)]
      for (const word of words.length > 0 ? words : [undefined]) {
        if (out.length > end) out.repeat(begin, end)
        put('answer', word)
        out.text(format.end)
        if (out.length - slice < SLICE_BYTES) continue
        slice = out.length
        yield
      }
    }
  }
  const rows: RowFormat = { begin: format.header(columns.map(({ name }) => name)), write }
  return { columns, rows }
}
