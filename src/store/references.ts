// Puts documents in the place of their ids, after a read: each is fetched once, however many rows name it. What is not
// found leaves nothing, as a $lookup would.
import { ObjectId } from 'mongodb'
import type { Query, References } from '../pipelines/stages.js'
import { Bson, BsonList, bsonArray, bsonDocument, type Element, elements } from '../serializer/bson.js'

/** The documents of a list with those that they refer to, which `read` fetches. */
export const withReferences = async (
  list: BsonList,
  references: References | undefined,
  read: (query: Query) => Promise<BsonList>,
): Promise<BsonList> => {
  if (references === undefined) return list
  const ids = idsIn(list, references)
  const found = ids.length === 0 ? [] : documentsById(await read(references.find(ids)))
  const byId = new Map(found)
  return new BsonList(
    list.collection,
    list.batches.map((bytes) => bsonArray(documents(bytes).map((row) => embedded(row, references, byId)))),
  )
}

const documents = (batch: Buffer): Buffer[] =>
  Array.from(elements(batch, 0), ({ at, next }) => batch.subarray(at, next))

const idsIn = ({ batches }: BsonList, { fields }: References): unknown[] => {
  const ids = new Map<string, unknown>()
  for (const row of batches.flatMap(documents)) {
    for (const element of elements(row, 0)) {
      if (fields.includes(element.name) && isId(element)) ids.set(idKey(row, element), idValue(row, element))
    }
  }
  return [...ids.values()]
}

const documentsById = ({ batches }: BsonList): [string, Buffer][] =>
  batches.flatMap(documents).map((document) => {
    const id = [...elements(document, 0)].find(({ name }) => name === '_id') as Element
    return [idKey(document, id), document]
  })

/** A document with what its fields refer to in the place of the ids. */
const embedded = (row: Buffer, { fields }: References, byId: ReadonlyMap<string, Buffer>): Buffer => {
  const parts: Buffer[] = []
  let start = 4
  for (const element of elements(row, 0)) {
    if (fields.includes(element.name)) {
      const document = byId.get(idKey(row, element))
      if (document !== undefined)
        parts.push(Buffer.from([Bson.document]), row.subarray(start + 1, element.at), document)
    } else parts.push(row.subarray(start, element.next))
    start = element.next
  }
  return bsonDocument(parts)
}

const isId = ({ type }: Element): boolean => type === Bson.string || type === Bson.objectId

/** The same text for the same id, and for no other value. */
const idKey = (bytes: Buffer, { type, at, next }: Element): string => `${type}:${bytes.toString('latin1', at, next)}`

const idValue = (bytes: Buffer, { type, at, next }: Element): string | ObjectId =>
  type === Bson.string ? bytes.toString('utf8', at + 4, next - 1) : new ObjectId(bytes.subarray(at, next))
