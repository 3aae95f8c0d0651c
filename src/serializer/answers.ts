// The answers of entries as rows of their own: one for each answer, and for several choices one for each chosen word. An entry
// may become much more than it is stored in, so its rows are written in slices, and there is a limit to them.
import type { TObject } from '@sinclair/typebox'
import { Entry } from '../../schemas/entries.js'
import { AnswerRow } from '../../schemas/exports.js'
import { listedSchemas } from '../../schemas/index.js'
import { select } from '../../schemas/kit.js'
import {
  Bson,
  BsonDocument,
  Bytes,
  type Element,
  elements,
  MAX_RESPONSE_BYTES,
  ResponseTooLarge,
  UnwritableDocument,
} from '../bson/reader.js'
import { lastFieldOf } from '../bson/values.js'
import { type ColumnFormat, compileRows } from './columns.js'
import type { Output } from './output.js'
import type { RowFormat } from './rows.js'
import { OVERHANG, ROOM, type Write } from './scalars.js'
import { idOf } from './skipped.js'
import { compileDocuments } from './writer.js'

/** How many bytes are written before other work gets its turn. */
const SLICE_BYTES = 256 * 1024

const nothing: Write = (_input, _type, _at, _output, to) => to
/** Finds what does not fit. Numbers fit, as with `answers=list`. Texts always do, so that none is written. */
const check = compileDocuments(
  { schema: select(Entry, ['id', 'answers']), named: listedSchemas },
  { writeString: nothing, writeText: nothing },
)

/** The columns of an answer's own fields, without the words. */
const ofAnswer: TObject = select(AnswerRow, ['type', 'question'])

/** The names of all columns. */
export const answerColumns = Object.keys(AnswerRow.properties)

/**
 * A writer of the rows of entries.
 * @throws UnwritableDocument if an entry does not fit its schema, or its rows are too large for a response
 */
export const answersWriter = (columns: ColumnFormat): RowFormat['write'] => {
  const label = (name: string) => columns.label(name, name === answerColumns[0])
  const question = compileRows({ schema: ofAnswer, named: listedSchemas }, { ...columns, label })

  function* write({ collection, bytes }: BsonDocument, out: Output): Generator<void> {
    const input = new Bytes(bytes)
    const text = ({ type, at, next }: Element): void => {
      out.reserve(ROOM * (next - at) + OVERHANG)
      out.length = columns.text(input, type, at, out.target, out.length)
    }
    const id = lastFieldOf(bytes, 0, '_id') as Element
    let [position, slice] = [0, out.length]
    for (const answer of elements(bytes, (lastFieldOf(bytes, 0, 'answers') as Element).at)) {
      position += 1
      const begin = out.length
      out.text(label('entry'))
      text(id)
      out.text(`${label('position')}${position}`)
      question.write(new BsonDocument(collection, bytes.subarray(answer.at, answer.next)), out)
      const end = out.length
      for (const word of wordsOf(bytes, answer.at)) {
        if (out.length > end) out.repeat(begin, end)
        if (word === undefined) out.text(columns.missing)
        else {
          out.text(label('answer'))
          text(word)
        }
        out.text(columns.end)
        if (out.length - slice < SLICE_BYTES) continue
        slice = out.length
        yield
      }
    }
  }

  return function* (entry, out) {
    const { length } = out
    check(entry, out)
    out.length = length
    try {
      yield* write(entry, out)
    } catch (error) {
      if (!(error instanceof ResponseTooLarge)) throw error
      const reason = `become rows of more than ${MAX_RESPONSE_BYTES} bytes`
      throw new UnwritableDocument(entry.collection, idOf(entry.bytes), 'answers', reason)
    }
  }
}

/** The words of the answer that begins at a place. Without a word there is one row, so that no question is lost. */
function* wordsOf(bytes: Buffer, at: number): Generator<Element | undefined> {
  const value = lastFieldOf(bytes, at, 'answer')
  if (value?.type !== Bson.array) {
    yield value?.type === Bson.null || value?.type === Bson.undefined ? undefined : value
    return
  }
  let hasWords = false
  for (const word of elements(bytes, value.at)) {
    hasWords = true
    yield word
  }
  if (!hasWords) yield undefined
}
