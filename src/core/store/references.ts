// Replaces ids in the result of a query by their documents. Each document is fetched once, even if many rows refer to
// it. An id without a document is removed, as a $lookup would. What is neither an id nor null becomes `false`, which the
// writer refuses: an object in place of an id must not pass as the document.
import { ObjectId } from 'mongodb'
import { Bson, BsonList, bsonDocument, type Element, elements } from '../bson/reader.js'
import { fieldOf } from '../bson/values.js'
import { allEnded, runInSlices } from '../limits/work.js'
import type { Query, References } from '../pipelines/stages.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge, unreadable, withBsonErrors } from '../write/errors.js'
import type { Reading, Store } from './store.js'

/** How many documents are fetched in one query. A record may refer to many thousands. */
const IDS_PER_QUERY = 1000
/** How many values are looked at before other requests go on: about a millisecond. */
const VALUES_PER_STEP = 1000

export const readWithReferences = async (store: Pick<Store, 'aggregate'>, query: Query, reading: Reading = {}) => {
  const list = await store.aggregate(query, reading)
  if (query.references.length === 0) return list
  const { signal, charge } = reading
  const rows = list.documents.map(({ bytes }) => bytes)
  const limitEmbedded = sizeLimit()
  const joins = query.references.map((to): Join => ({ ...to, ids: new Map(), found: new Map(), limitEmbedded }))
  const byField: Joins = new Map(joins.flatMap((join) => join.fields.map((field) => [field, join])))
  await runInSlices(collectIds(rows, byField), signal).catch((error) => {
    throw unreadable(list.collection, error)
  })
  // Each document that is found takes the place of an id at least once.
  const limitFound = sizeLimit()
  await allEnded(
    joins.map(async ({ find, ids, found }) => {
      const wanted = [...ids.values()]
      for (let start = 0; start < wanted.length; start += IDS_PER_QUERY) {
        const fetched = await store.aggregate(find(wanted.slice(start, start + IDS_PER_QUERY)), reading)
        limitFound(fetched.size)
        withBsonErrors(fetched.collection, () => {
          for (const { bytes } of fetched.documents)
            found.set(typedId(bytes, fieldOf(bytes, 0, '_id') as Element), bytes)
        })
      }
    }),
  )
  const filled: Buffer[] = []
  const limitFilled = sizeLimit()
  for (const row of rows) {
    const bytes = await runInSlices(embedded(byField, row), signal)
    limitFilled(bytes.length)
    filled.push(bytes)
    await charge?.(bytes.length)
  }
  return new BsonList(list.collection, filled)
}

/** References, with the ids that the rows have and the documents that were found for them. */
interface Join extends References {
  readonly ids: Map<string, unknown>
  readonly found: Map<string, Buffer>
  /** Is told the size of each document before it is copied, because a row may repeat an id. */
  readonly limitEmbedded: (bytes: number) => void
}

type Joins = ReadonlyMap<string, Join>

/** Makes a function that adds up bytes, and throws ResponseTooLarge as soon as they exceed the limit. */
const sizeLimit = () => {
  let size = 0
  return (bytes: number): void => {
    size += bytes
    if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
  }
}

function* collectIds(rows: readonly Buffer[], joins: Joins): Generator<void, void> {
  let count = 0
  for (const row of rows) {
    for (const { join, element } of valuesOf(joins, row)) {
      if (isId(element)) join.ids.set(typedId(row, element), idValue(row, element))
      count += 1
      if (count % VALUES_PER_STEP === 0) yield
    }
  }
}

/** The values of the fields in the document at `start`. For an array, these are its items. */
function* valuesOf(joins: Joins, bytes: Buffer, start = 0, path = ''): Generator<{ join: Join; element: Element }> {
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    const join = joins.get(name)
    if (leadsTo(joins, name, element)) yield* valuesOf(joins, bytes, element.at, `${name}.`)
    else if (join === undefined) continue
    else if (element.type !== Bson.array) yield { join, element }
    else for (const item of elements(bytes, element.at)) yield { join, element: item }
  }
}

/** Whether an element is a document that contains one of the fields. */
const leadsTo = (joins: Joins, name: string, { type }: Element): boolean =>
  type === Bson.document && [...joins.keys()].some((field) => field.startsWith(`${name}.`))

/** The document at `start`, with the ids in its fields replaced by documents. */
function* embedded(joins: Joins, bytes: Buffer, start = 0, path = ''): Generator<void, Buffer> {
  const slices: Buffer[] = []
  let from = start + 4
  for (const element of elements(bytes, start)) {
    const name = path + element.name
    const join = joins.get(name)
    if (leadsTo(joins, name, element)) {
      slices.push(bytes.subarray(from, element.at), yield* embedded(joins, bytes, element.at, `${name}.`))
    } else if (join === undefined || element.type === Bson.null || element.type === Bson.undefined) {
      slices.push(bytes.subarray(from, element.next))
    } else if (element.type === Bson.array) {
      const items: Buffer[] = []
      let count = 0
      for (const item of elements(bytes, element.at)) {
        items.push(...replaced(join, bytes, item, Buffer.from(`${item.name}\0`)))
        count += 1
        if (count % VALUES_PER_STEP === 0) yield
      }
      slices.push(bytes.subarray(from, element.at), bsonDocument(items))
    } else slices.push(...replaced(join, bytes, element, bytes.subarray(from + 1, element.at)))
    from = element.next
  }
  return bsonDocument(slices)
}

/** An element with the document in place of its id. Items of arrays keep their names, which errors show. */
const replaced = ({ found, limitEmbedded }: Join, bytes: Buffer, element: Element, name: Buffer): Buffer[] => {
  if (!isId(element)) return [Buffer.of(Bson.boolean), name, Buffer.of(0)]
  const document = found.get(typedId(bytes, element))
  if (document === undefined) return []
  limitEmbedded(document.length)
  return [Buffer.of(Bson.document), name, document]
}

const isId = ({ type }: Element): boolean => type === Bson.string || type === Bson.objectId

/** A text that identifies an id. The type is part of it, because a string and an ObjectId are never the same id. */
const typedId = (bytes: Buffer, { type, at, next }: Element): string => `${type}:${bytes.toString('latin1', at, next)}`

const idValue = (bytes: Buffer, { type, at, next }: Element): string | ObjectId =>
  type === Bson.string ? bytes.toString('utf8', at + 4, next - 1) : new ObjectId(bytes.subarray(at, next))
