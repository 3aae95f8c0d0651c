// The answers of entries as rows of their own: one for each answer, and for several choices one for each chosen word. An entry
// may become much more than it is stored in, so its rows are written in slices.
import { Entry } from '../../schemas/entries.js'
import { AnswerRow } from '../../schemas/exports.js'
import { listedSchemas } from '../../schemas/index.js'
import { select } from '../../schemas/kit.js'
import { BsonDocument, Bytes, type Element, elements } from '../bson/reader.js'
import { itemsOf, lastFieldOf, present } from '../bson/values.js'
import { type ColumnFormat, compileRows } from './columns.js'
import type { RowFormat } from './rows.js'
import { compileDocuments, writeValue } from './writer.js'

/** How many bytes are written before other work goes on. */
const SLICE_BYTES = 256 * 1024

/** Finds what does not fit. Numbers fit, as with `answers=list`. */
const check = compileDocuments({ schema: select(Entry, ['id', 'answers']), named: listedSchemas })

export const answerColumns = Object.keys(AnswerRow.properties)

export const answersWriter = (columns: ColumnFormat): RowFormat['write'] => {
  const label = (name: string) => columns.label(name, name === answerColumns[0])
  const question = compileRows(
    { schema: select(AnswerRow, ['type', 'question']), named: listedSchemas },
    { ...columns, label },
  )

  return function* (entry, out) {
    const first = out.length
    check(entry, out)
    out.length = first
    const { collection, bytes } = entry
    const input = new Bytes(bytes)
    const id = lastFieldOf(bytes, 0, '_id') as Element
    let [position, slice] = [0, first]
    for (const answer of elements(bytes, (lastFieldOf(bytes, 0, 'answers') as Element).at)) {
      position += 1
      const begin = out.length
      out.text(label('entry'))
      writeValue(columns.text, input, id, out)
      out.text(`${label('position')}${position}`)
      question.write(new BsonDocument(collection, bytes.subarray(answer.at, answer.next)), out)
      const end = out.length
      for (const word of wordsOf(bytes, answer.at)) {
        if (out.length > end) out.repeat(begin, end)
        if (word === undefined) out.text(columns.missing)
        else {
          out.text(label('answer'))
          writeValue(columns.text, input, word, out)
        }
        out.text(columns.end)
        if (out.length - slice < SLICE_BYTES) continue
        slice = out.length
        yield
      }
    }
  }
}

/** The words of the answer that begins at a place. Without a word there is one row, so that no question is lost. */
function* wordsOf(bytes: Buffer, at: number): Generator<Element | undefined> {
  const value = present(lastFieldOf(bytes, at, 'answer'))
  let hasWords = false
  for (const word of value === undefined ? [] : itemsOf(bytes, value)) {
    hasWords = true
    yield word
  }
  if (!hasWords) yield undefined
}
