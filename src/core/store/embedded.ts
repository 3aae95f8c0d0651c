// The embedded store, for development, demos and tests. It keeps documents as BSON in memory and runs pipelines on
// mingo. Each query works on its own copies, so it cannot change stored documents. Where mingo differs from MongoDB,
// this file does the work: $sort, $skip, $limit and $lookup run on indexes. Other operators: embedded-operators.ts.
import { Aggregator } from 'mingo/aggregator'
import { Query as Criteria } from 'mingo/query'
import { BSON } from 'mongodb'
import { BsonList } from '../bson/reader.js'
import {
  CHANGED_AT,
  type CollectionName,
  collectionNames,
  type Documents,
  isRecordCollection,
  type RecordCollection,
  UNSTAMPED,
} from '../documents/collections.js'
import { formerOf, keptOf } from '../documents/former.js'
import { indexesOf } from '../documents/indexes.js'
import type { Condition, Lookup, Query, Stage } from '../pipelines/stages.js'
import { at, compareValues, context, type Document } from './embedded-operators.js'
import { type Store, storedOf } from './store.js'

/** A stored document as bytes, with the values of the fields by which it was looked for. */
interface Row {
  readonly id: string
  readonly bytes: Uint8Array
  readonly values: Map<string, unknown>
}

/** Its operations run one after the other. With this number the limits are those before a database with the default pool. */
const CAPACITY = 64

/** An empty store, which keeps tombstones as long as it lives. `now` is the clock of the database. */
export const embeddedStore = ({ now = () => new Date() } = {}): Store => {
  const tables = new Map<string, Table>(collectionNames.map((name) => [name, new Table()]))
  const table = (name: string) => tables.get(name) as Table

  const run = (rows: readonly Row[], stages: readonly Stage[]): Document[] => {
    let documents = rows.map(decode)
    for (const stage of stages) {
      if (stage.$lookup !== undefined) join(documents, stage.$lookup)
      else documents = new Aggregator([stage], { context }).run(documents)
    }
    return documents
  }

  const join = (documents: Document[], { from, localField, foreignField, pipeline, as }: Lookup): void => {
    const [{ $match }, ...rest] = pipeline ?? [{ $match: {} }]
    const wanted = table(from).matching($match)
    for (const document of documents) {
      const values = new Set(valuesIn(at(document, localField)))
      const isJoined = (row: Row) => valuesIn(fieldValue(row, foreignField)).some((value) => values.has(value))
      document[as] = run(wanted.filter(isJoined), rest)
    }
  }

  const documentsOf = (query: Query): Buffer[] => {
    const { rows, rest } = table(query.collection).select(query)
    const found = run(rows, rest).map(encode)
    return query.union === undefined ? found : found.concat(documentsOf(query.union))
  }

  const stamped = (document: Document): Document => ({ ...document, [CHANGED_AT]: now() })

  /** A record as it is stored: with a stamp, and with what is kept of the document in its place. */
  const written = (name: RecordCollection, record: Document): Document => {
    const found = table(name).find(record._id as string)
    return stamped({ ...record, ...(found && project(found, formerOf(name, record))) })
  }

  return {
    description: 'embedded store',
    capacity: CAPACITY,
    async aggregate(query, { signal, charge } = {}) {
      signal?.throwIfAborted()
      const list = new BsonList(query.collection, documentsOf(query))
      await charge?.(list.size)
      return list
    },
    async count(query) {
      return table(query.collection).matching(query.counted).length
    },
    async dangerouslyFind<C extends CollectionName>(collection: C, id: string) {
      return table(collection).find(id) as Documents[C] | undefined
    },
    async dangerouslyFindAll<C extends CollectionName>(collection: C, condition: Condition, limit?: number) {
      const rows = table(collection).matching(condition)
      return rows.slice(0, limit).map(decode) as Documents[C][]
    },
    async *dangerouslyReadAll(name) {
      const rows = table(name).matching({})
      yield rows.map(({ bytes }) => storedOf(bytes))
    },
    async insert(name, documents, options) {
      const isFree = (document: Document) => table(name).isFree(document)
      const added = options?.skipTaken ? documents.filter(isFree) : documents
      table(name).put(isRecordCollection(name) ? added.map((record) => written(name, record)) : added, isFree)
    },
    async upsert(name, documents) {
      const records = documents.map((record) => written(name, record))
      table(name).put(records, (document) => {
        const found = table(name).find(document._id as string)
        return found === undefined || (found.organisation ?? found.deletedFrom) === document.organisation
      })
    },
    async *stamp(name) {
      const found = table(name).matching(UNSTAMPED)
      table(name).put(found.map(decode).map(stamped))
      yield found.length
    },
    async remove(name, organisation, ids) {
      const stored = [...new Set(ids)].map((id) => table(name).find(id) ?? {})
      const found = stored.filter((record) => record.organisation === organisation)
      const tombstone = { deletedFrom: organisation, deletedAt: now() }
      table(name).put(found.map((record) => ({ ...project(record, keptOf(name)), ...tombstone })))
      return found.length
    },
    async *dangerouslyErase(name, condition) {
      const found = table(name).matching(condition)
      table(name).erase(found)
      yield found.length
    },
    async now() {
      const time = now().getTime()
      return { now: time, majority: time }
    },
    async update(name, id, fields, condition) {
      const found = table(name).find(id, condition)
      if (found !== undefined) table(name).put([{ ...found, ...fields }])
      return found !== undefined
    },
    ensureIndexes: async () => [],
    indexes: async () => [],
    knownIndexes: indexesOf,
    async ping() {},
    async close() {},
  }
}

/** The id of a document, with other fields as $project has them. */
const project = (document: Document, fields: object): Document =>
  new Aggregator([{ $project: { _id: 1, ...fields } }], { context }).run<Document>([document])[0] as Document

const decode = (row: Row): Document => BSON.deserialize(row.bytes)

const encode = (document: Document): Buffer => {
  const bytes = BSON.serialize(document, { ignoreUndefined: true })
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** The value of a field in a row. As long as a row is decoded, it keeps its other small values too. */
const fieldValue = (row: Row, field: string): unknown => {
  const { values } = row
  if (!values.has(field)) {
    const document = decode(row)
    for (const [name, value] of Object.entries(document)) {
      if (typeof value !== 'object' || value instanceof Date) values.set(name, value)
    }
    values.set(field, at(document, field))
  }
  return values.get(field)
}

/** A value, or the items of an array. A missing value counts as null. */
const valuesIn = (value: unknown): unknown[] => [value ?? null].flat()

/** Makes a function that checks whether a row matches a condition. A text is looked for without mingo, which is quicker. */
const matches = ({ $and = [], ...own }: Condition): ((row: Row) => boolean) => {
  const tests = [own, ...($and as Condition[])].flatMap(Object.entries).map(([field, value]) => {
    const isPlain = !/[.$]/.test(field)
    if (isPlain && typeof value === 'string') return (row: Row) => valuesIn(fieldValue(row, field)).includes(value)
    // mingo takes no bigint. In BSON it becomes what the documents have.
    const criteria = new Criteria(BSON.deserialize(BSON.serialize({ [field]: value })), { context })
    return (row: Row) => criteria.test(isPlain ? { [field]: fieldValue(row, field) } : decode(row))
  })
  return (row) => tests.every((test) => test(row))
}

/** The rows of a collection, and their orders, which are built on demand and dropped at every write. */
class Table {
  readonly #rows = new Map<string, Row>()
  readonly #orders = new Map<string, readonly Row[]>()

  /** Writes documents that may be written, all or none of them. */
  put(documents: readonly Document[], mayWrite: (document: Document) => boolean = () => true): void {
    const ids = new Set<string>()
    for (const document of documents) {
      const id = document._id as string
      if (ids.has(id) || !mayWrite(document)) throw new Error(`The id ${id} exists already`)
      ids.add(id)
    }
    for (const document of documents) {
      const id = document._id as string
      this.#rows.set(id, { id, bytes: encode(document), values: new Map() })
    }
    this.#orders.clear()
  }

  /** Whether nothing has the id of a document, except perhaps a tombstone of the same organisation. */
  isFree({ _id, organisation }: Document): boolean {
    const found = this.find(_id as string)
    return found === undefined || (found.deletedFrom !== undefined && found.deletedFrom === organisation)
  }

  find(id: string, condition: Condition = {}): Document | undefined {
    const row = this.#rows.get(id)
    return row && matches(condition)(row) ? decode(row) : undefined
  }

  erase(rows: readonly Row[]): void {
    for (const { id } of rows) this.#rows.delete(id)
    this.#orders.clear()
  }

  /** The rows of a query's page, in its order, and the stages that are left to run. */
  select({ match, stages }: Query): { rows: readonly Row[]; rest: readonly Stage[] } {
    const rest = [...stages]
    const take = (name: keyof Stage): unknown => (rest[0]?.[name] === undefined ? undefined : rest.shift()?.[name])
    const rows = this.matching(match, take('$sort') as Record<string, 1 | -1> | undefined)
    const start = (take('$skip') as number | undefined) ?? 0
    const count = (take('$limit') as number | undefined) ?? rows.length
    const isWanted = matches((take('$match') as Condition | undefined) ?? {})
    return { rows: rows.slice(start, start + count).filter(isWanted), rest }
  }

  /** The rows that match a condition, sorted by a field and then by the id, both in the same direction. */
  matching(match: Condition, sort: Record<string, 1 | -1> = { _id: 1 }): readonly Row[] {
    const [[field, direction]] = Object.entries(sort) as [[string, 1 | -1]]
    const rows = this.#order(field).filter(matches(match))
    return direction === 1 ? rows : rows.reverse()
  }

  #order(field: string): readonly Row[] {
    let rows = this.#orders.get(field)
    if (rows === undefined) {
      rows = [...this.#rows.values()].sort(
        (a, b) => compareValues(fieldValue(a, field), fieldValue(b, field)) || compareValues(a.id, b.id),
      )
      this.#orders.set(field, rows)
    }
    return rows
  }
}
