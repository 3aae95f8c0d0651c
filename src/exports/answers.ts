// The answers of entries as rows of their own: one for each answer, and for several choices one for each chosen word.
import { Type } from '@sinclair/typebox'
import { Entry } from '../../schemas/entries.js'
import { listedSchemas } from '../../schemas/index.js'
import { select } from '../../schemas/kit.js'
import { Bson, BsonDocument, bsonDocument, type Element, elements } from '../bson/reader.js'
import { integerOf, lastFieldOf } from '../bson/values.js'
import { giveBack, Output } from '../serializer/output.js'
import { compileCheck } from '../serializer/rows.js'

/** Finds what does not fit. Numbers fit, as with `answers=list`. */
const entries = compileCheck(select(Type.Object(Entry.properties), ['id', 'answers']), listedSchemas)

/**
 * The rows of an entry, each as the BSON of an `AnswerRow`.
 * @throws UnwritableDocument if the entry does not fit its schema
 */
export const answersOf = (entry: BsonDocument): BsonDocument[] => {
  const { collection, bytes } = entry
  const checked = new Output(bytes.length)
  entries.write(entry, checked)
  giveBack(checked.take())
  const id = lastFieldOf(bytes, 0, '_id') as Element
  const rows: BsonDocument[] = []
  let position = 0
  for (const answer of elements(bytes, (lastFieldOf(bytes, 0, 'answers') as Element).at)) {
    position += 1
    const place = Buffer.alloc(4)
    place.writeInt32LE(position)
    const first = [...copied(bytes, id, 'entry'), POSITION, place]
    for (const name of ['type', 'question'])
      first.push(...copied(bytes, lastFieldOf(bytes, answer.at, name) as Element, name))
    for (const word of wordsOf(bytes, lastFieldOf(bytes, answer.at, 'answer'))) {
      rows.push(new BsonDocument(collection, bsonDocument([...first, ...word])))
    }
  }
  return rows
}

/** The elements `answer` of the rows of an answer. Without a word there is one row, so that no question is lost. */
const wordsOf = (bytes: Buffer, value: Element | undefined): Buffer[][] => {
  const words = value?.type === Bson.array ? [...elements(bytes, value.at)] : value === undefined ? [] : [value]
  return words.length === 0 ? [[]] : words.map((word) => textOf(bytes, word))
}

/** A word as an element `answer`. A number becomes its text. */
const textOf = (bytes: Buffer, word: Element): Buffer[] => {
  const { type, at } = word
  if (type === Bson.double) return textElement(String(bytes.readDoubleLE(at)))
  return NUMBERS.has(type) ? textElement(String(integerOf(bytes, word))) : copied(bytes, word, 'answer')
}

const NUMBERS = new Set<number>([Bson.int32, Bson.int64])

const textElement = (text: string): Buffer[] => {
  const size = Buffer.alloc(4)
  size.writeInt32LE(text.length + 1)
  return [typeAndName(Bson.string, 'answer'), size, Buffer.from(`${text}\0`)]
}

/** An element with another name. */
const copied = (bytes: Buffer, { type, at, next }: Element, name: string): Buffer[] => [
  typeAndName(type, name),
  bytes.subarray(at, next),
]

const typeAndName = (type: number, name: string): Buffer => Buffer.from(`${String.fromCharCode(type)}${name}\0`)
const POSITION = typeAndName(Bson.int32, 'position')
