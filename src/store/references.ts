// Replaces ids in the result of a query by their documents. Each document is fetched once, even if many rows refer to it.
// An id without a document is removed, as a $lookup would.
import { ObjectId } from 'mongodb'
import {
  Bson,
  BsonList,
  bsonArray,
  bsonDocument,
  type Element,
  elements,
  MAX_RESPONSE_BYTES,
  ResponseTooLarge,
  reading,
} from '../bson/reader.js'
import type { Query, References } from '../pipelines/stages.js'

/** Replaces the referring ids in a list by documents, which `read` fetches. */
export const withReferences = async (
  list: BsonList,
  references: References | undefined,
  read: (query: Query) => Promise<BsonList>,
): Promise<BsonList> => {
  if (references === undefined) return list
  const rows = list.documents
  const ids = reading(list.collection, () => idsIn(rows, references))
  const found = ids.length === 0 ? undefined : await read(references.find(ids))
  const byId = new Map(found && reading(found.collection, () => documentsById(found)))
  let size = 0
  const filled = rows.map((row) => {
    const bytes = embedded(references.fields, byId, row)
    size += bytes.length
    if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
    return bytes
  })
  return new BsonList(list.collection, [bsonArray(filled)])
}

const idsIn = (rows: readonly Buffer[], { fields }: References): unknown[] => {
  const ids = new Map<string, unknown>()
  for (const row of rows) {
    for (const element of valuesOf(fields, row)) {
      if (isId(element)) ids.set(idKey(row, element), idValue(row, element))
    }
  }
  return [...ids.values()]
}

/** The values of the fields in the document at `start`. Of an array, its items. */
function* valuesOf(fields: readonly string[], bytes: Buffer, start = 0, path = ''): Generator<Element> {
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    if (leadsTo(fields, name, element)) yield* valuesOf(fields, bytes, element.at, `${name}.`)
    else if (!fields.includes(name)) continue
    else if (element.type === Bson.array) yield* elements(bytes, element.at)
    else yield element
  }
}

/** Whether an element is a document that contains one of the fields. */
const leadsTo = (fields: readonly string[], name: string, { type }: Element): boolean =>
  type === Bson.document && fields.some((field) => field.startsWith(`${name}.`))

const documentsById = (list: BsonList): [string, Buffer][] =>
  list.documents.map((document) => {
    const id = [...elements(document, 0)].find(({ name }) => name === '_id') as Element
    return [idKey(document, id), document]
  })

type ById = ReadonlyMap<string, Buffer>

/** The document at `start`, with the ids in its fields replaced by documents. */
const embedded = (fields: readonly string[], byId: ById, bytes: Buffer, start = 0, path = ''): Buffer => {
  const parts: Buffer[] = []
  let from = start + 4
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    if (leadsTo(fields, name, element)) {
      parts.push(bytes.subarray(from, element.at), embedded(fields, byId, bytes, element.at, `${name}.`))
    } else if (!fields.includes(name)) parts.push(bytes.subarray(from, element.next))
    else if (element.type === Bson.array) {
      const found = Array.from(elements(bytes, element.at)).flatMap((item) => byId.get(idKey(bytes, item)) ?? [])
      parts.push(bytes.subarray(from, element.at), bsonArray(found))
    } else {
      const document = byId.get(idKey(bytes, element))
      if (document !== undefined) parts.push(Buffer.of(Bson.document), bytes.subarray(from + 1, element.at), document)
    }
    from = element.next
  }
  return bsonDocument(parts)
}

const isId = ({ type }: Element): boolean => type === Bson.string || type === Bson.objectId

/** A text that identifies an id. The type is part of it, because a string and an ObjectId are never the same id. */
const idKey = (bytes: Buffer, { type, at, next }: Element): string => `${type}:${bytes.toString('latin1', at, next)}`

const idValue = (bytes: Buffer, { type, at, next }: Element): string | ObjectId =>
  type === Bson.string ? bytes.toString('utf8', at + 4, next - 1) : new ObjectId(bytes.subarray(at, next))
