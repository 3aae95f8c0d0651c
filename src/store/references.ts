// Replaces ids in the result of a query by their documents. Each document is fetched once, even if many rows refer to
// it. An id without a document is removed, as a $lookup would. What is neither an id nor null becomes `false`, which the
// serializer refuses: an object in place of an id must not pass as the document.
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

/**
 * Replaces the referring ids in a list by documents, which `read` fetches with one query for each of the references.
 */
export const withReferences = async (
  list: BsonList,
  references: readonly References[],
  read: (query: Query) => Promise<BsonList>,
): Promise<BsonList> => {
  if (references.length === 0) return list
  const rows = list.documents
  const ids = reading(list.collection, () => idsIn(rows, references))
  const found = await Promise.all(
    references.map(async ({ fields, find }, i) => {
      const wanted = [...(ids[i] as Ids).values()]
      const fetched = wanted.length === 0 ? undefined : await read(find(wanted))
      const byId: ById = new Map(fetched && reading(fetched.collection, () => documentsById(fetched)))
      return fields.map((field): [string, ById] => [field, byId])
    }),
  )
  const byField = new Map(found.flat())
  const fields = [...byField.keys()]
  let size = 0
  const filled = rows.map((row) => {
    const bytes = embedded(fields, byField, row)
    size += bytes.length
    if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
    return bytes
  })
  return new BsonList(list.collection, [bsonArray(filled)])
}

type Ids = Map<string, unknown>

/** The ids in the rows, for each of the references. */
const idsIn = (rows: readonly Buffer[], references: readonly References[]): Ids[] => {
  const ids = references.map((): Ids => new Map())
  const byField = new Map(references.flatMap(({ fields }, i) => fields.map((field) => [field, ids[i] as Ids])))
  const fields = [...byField.keys()]
  for (const row of rows) {
    for (const { field, element } of valuesOf(fields, row)) {
      if (isId(element)) (byField.get(field) as Ids).set(typedId(row, element), idValue(row, element))
    }
  }
  return ids
}

interface Value {
  field: string
  element: Element
}

/** The values of the fields in the document at `start`. For an array, these are its items. */
function* valuesOf(fields: readonly string[], bytes: Buffer, start = 0, path = ''): Generator<Value> {
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    if (leadsTo(fields, name, element)) yield* valuesOf(fields, bytes, element.at, `${name}.`)
    else if (!fields.includes(name)) continue
    else if (element.type !== Bson.array) yield { field: name, element }
    else for (const item of elements(bytes, element.at)) yield { field: name, element: item }
  }
}

/** Whether an element is a document that contains one of the fields. */
const leadsTo = (fields: readonly string[], name: string, { type }: Element): boolean =>
  type === Bson.document && fields.some((field) => field.startsWith(`${name}.`))

const documentsById = (list: BsonList): [string, Buffer][] =>
  list.documents.map((document) => {
    const id = [...elements(document, 0)].find(({ name }) => name === '_id') as Element
    return [typedId(document, id), document]
  })

type ById = ReadonlyMap<string, Buffer>

/** The document at `start`, with the ids in its fields replaced by documents. */
const embedded = (
  fields: readonly string[],
  byField: ReadonlyMap<string, ById>,
  bytes: Buffer,
  start = 0,
  path = '',
): Buffer => {
  const parts: Buffer[] = []
  let from = start + 4
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    const byId = byField.get(name)
    if (leadsTo(fields, name, element)) {
      parts.push(bytes.subarray(from, element.at), embedded(fields, byField, bytes, element.at, `${name}.`))
    } else if (byId === undefined || element.type === Bson.null || element.type === Bson.undefined) {
      parts.push(bytes.subarray(from, element.next))
    } else if (element.type === Bson.array) {
      const items = Array.from(elements(bytes, element.at))
      const found = items.flatMap((item) => replaced(byId, bytes, item, Buffer.from(`${item.name}\0`)))
      parts.push(bytes.subarray(from, element.at), bsonDocument(found))
    } else parts.push(...replaced(byId, bytes, element, bytes.subarray(from + 1, element.at)))
    from = element.next
  }
  return bsonDocument(parts)
}

/** An element with the document in place of its id. Items of arrays keep their names, which errors show. */
const replaced = (byId: ById, bytes: Buffer, element: Element, name: Buffer): Buffer[] => {
  if (!isId(element)) return [Buffer.of(Bson.boolean), name, Buffer.of(0)]
  const document = byId.get(typedId(bytes, element))
  return document === undefined ? [] : [Buffer.of(Bson.document), name, document]
}

const isId = ({ type }: Element): boolean => type === Bson.string || type === Bson.objectId

/** A text that identifies an id. The type is part of it, because a string and an ObjectId are never the same id. */
const typedId = (bytes: Buffer, { type, at, next }: Element): string => `${type}:${bytes.toString('latin1', at, next)}`

const idValue = (bytes: Buffer, { type, at, next }: Element): string | ObjectId =>
  type === Bson.string ? bytes.toString('utf8', at + 4, next - 1) : new ObjectId(bytes.subarray(at, next))
