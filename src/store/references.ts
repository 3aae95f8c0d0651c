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
  unreadable,
} from '../bson/reader.js'
import { fieldOf } from '../bson/values.js'
import { allEnded, inTurns } from '../limits/work.js'
import type { Query, References } from '../pipelines/stages.js'
import type { Reading } from './store.js'

/** How many documents are fetched in one query. A record may refer to many thousands. */
const IDS_PER_QUERY = 1000
/** How many values are looked at before other requests have their turn: about a millisecond. */
const VALUES_PER_STEP = 1000

/** Replaces the referring ids in a list by documents, which `read` fetches for each of the references. */
export const withReferences = async (
  list: BsonList,
  references: readonly References[],
  read: (query: Query) => Promise<BsonList>,
  { signal, onBytes }: Reading = {},
): Promise<BsonList> => {
  if (references.length === 0) return list
  const rows = list.documents
  const ids = await inTurns(idsIn(rows, references), signal).catch((error) => {
    throw unreadable(list.collection, error)
  })
  const found = await allEnded(
    references.map(async ({ fields, find }, i) => {
      const byId: ById = new Map()
      const wanted = [...(ids[i] as Ids).values()]
      for (let start = 0; start < wanted.length; start += IDS_PER_QUERY) {
        const fetched = await read(find(wanted.slice(start, start + IDS_PER_QUERY)))
        reading(fetched.collection, () => addById(fetched, byId))
      }
      return fields.map((field): [string, ById] => [field, byId])
    }),
  )
  const byField = new Map(found.flat())
  const filled: Buffer[] = []
  let size = 0
  for (const row of rows) {
    const bytes = await inTurns(embedded([...byField.keys()], byField, row), signal)
    size += bytes.length
    if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
    filled.push(bytes)
    await onBytes?.(bytes.length)
  }
  return new BsonList(list.collection, [bsonArray(filled)])
}

type Ids = Map<string, unknown>

/** The ids in the rows, for each of the references. */
function* idsIn(rows: readonly Buffer[], references: readonly References[]): Generator<void, Ids[]> {
  const ids = references.map((): Ids => new Map())
  const byField = new Map(references.flatMap(({ fields }, i) => fields.map((field) => [field, ids[i] as Ids])))
  const fields = [...byField.keys()]
  let count = 0
  for (const row of rows) {
    for (const { field, element } of valuesOf(fields, row)) {
      if (isId(element)) (byField.get(field) as Ids).set(typedId(row, element), idValue(row, element))
      count += 1
      if (count % VALUES_PER_STEP === 0) yield
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

const addById = (list: BsonList, byId: ById): void => {
  for (const document of list.documents) byId.set(typedId(document, fieldOf(document, 0, '_id') as Element), document)
}

type ById = Map<string, Buffer>

/** The document at `start`, with the ids in its fields replaced by documents. */
function* embedded(
  fields: readonly string[],
  byField: ReadonlyMap<string, ById>,
  bytes: Buffer,
  start = 0,
  path = '',
): Generator<void, Buffer> {
  const parts: Buffer[] = []
  let from = start + 4
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    const byId = byField.get(name)
    if (leadsTo(fields, name, element)) {
      parts.push(bytes.subarray(from, element.at), yield* embedded(fields, byField, bytes, element.at, `${name}.`))
    } else if (byId === undefined || element.type === Bson.null || element.type === Bson.undefined) {
      parts.push(bytes.subarray(from, element.next))
    } else if (element.type === Bson.array) {
      const found: Buffer[] = []
      let count = 0
      for (const item of elements(bytes, element.at)) {
        found.push(...replaced(byId, bytes, item, Buffer.from(`${item.name}\0`)))
        count += 1
        if (count % VALUES_PER_STEP === 0) yield
      }
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
