// The store in process: documents kept as BSON, the service's pipelines run on mingo. For development, demos and tests;
// nothing outlives the process. A query works on objects of its own, so that none can change what is stored, and stages
// in which mingo differs from MongoDB do not reach it: $sort, $skip, $limit and $lookup are done here, on indexes.
import { Aggregator, Query as Criteria } from 'mingo'
import { BSON } from 'mongodb'
import type { Condition, Query, Stage } from '../pipelines/stages.js'
import { BsonList } from '../serializer/bson.js'
import { compareValues } from './bson-order.js'
import { type CollectionName, collections, type Documents } from './collections.js'
import type { Store } from './store.js'

type Document = Record<string, unknown>

/** A stored document: its bytes, and the values of its indexed fields. */
interface Row {
  readonly id: string
  readonly bytes: Uint8Array
  readonly keys: Readonly<Record<string, unknown>>
}

/** A condition that an index serves: the field is the value, or an array that holds it. */
interface Equality {
  readonly field: string
  readonly value: string
}

/** How many documents a batch of a stream holds at the most. */
const STREAM_BATCH = 500

export const embeddedStore = (): Store => {
  const tables = new Map(
    Object.entries(collections).map(([name, { indexes }]) => [name, new Table(new Set(indexes.flat()))]),
  )
  const table = (name: string) => tables.get(name) as Table

  /** Runs the stages that come after the page is chosen. */
  const run = (rows: readonly Row[], stages: readonly Stage[]): Document[] => {
    let documents = rows.map(decode)
    for (const stage of stages) {
      if (stage.$lookup !== undefined) join(documents, stage.$lookup as Lookup)
      else if (stage.$set !== undefined || stage.$project !== undefined)
        documents = new Aggregator([stage], {}).run(documents)
      else throw new Error(`The embedded store does not run ${Object.keys(stage)} here`)
    }
    return documents
  }

  const join = (documents: Document[], { from, localField, foreignField, as }: Lookup): void => {
    for (const document of documents) {
      const local = at(document, localField)
      const values = Array.isArray(local) ? local : [local]
      const rows = new Set(values.flatMap((value) => table(from).equal({ field: foreignField, value })))
      document[as] = [...rows].map(decode)
    }
  }

  const batches = function* (query: Query): Generator<BsonList> {
    const { rows, rest } = table(query.collection).select(query)
    for (let start = 0; start < rows.length; start += STREAM_BATCH) {
      const documents = run(rows.slice(start, start + STREAM_BATCH), rest)
      yield new BsonList(query.collection, [Buffer.from(BSON.serialize({ ...documents }, { ignoreUndefined: true }))])
    }
  }

  return {
    description: 'embedded store',
    async aggregate(query) {
      return new BsonList(
        query.collection,
        [...batches(query)].flatMap((list) => list.batches),
      )
    },
    async *stream(query) {
      yield* batches(query)
    },
    async count(query) {
      return table(query.collection).matching(query.match).length
    },
    async dangerouslyFind<C extends CollectionName>(collection: C, id: string) {
      return table(collection).find(id) as Documents[C] | undefined
    },
    async insert(collection, documents) {
      table(collection).insert(documents)
    },
    async update<C extends CollectionName>(collection: C, id: string, fields: Partial<Documents[C]>) {
      return table(collection).update(id, fields)
    },
    async ping() {},
    async close() {},
  }
}

interface Lookup {
  from: string
  localField: string
  foreignField: string
  as: string
}

const decode = (row: Row): Document => BSON.deserialize(row.bytes)

/** The value at a dotted path; arrays on the way are not descended into. */
const at = (document: Document, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Document | undefined)?.[name], document)

/** The rows of a collection, with what is derived from them: made when it is first asked for, dropped at every write. */
class Table {
  readonly #rows = new Map<string, Row>()
  readonly #orders = new Map<string, readonly Row[]>()
  readonly #equals = new Map<string, ReadonlyMap<unknown, readonly Row[]>>()

  constructor(readonly indexed: ReadonlySet<string>) {}

  insert(documents: readonly Document[]): void {
    const taken = documents.find(({ _id }) => this.#rows.has(_id as string))
    if (taken !== undefined) throw new Error(`The id ${taken._id} is taken`)
    for (const document of documents) this.#put(document)
  }

  find(id: string): Document | undefined {
    const row = this.#rows.get(id)
    return row && decode(row)
  }

  update(id: string, fields: Document): boolean {
    const document = this.find(id)
    if (document !== undefined) this.#put({ ...document, ...fields })
    return document !== undefined
  }

  #put(document: Document): void {
    const id = document._id as string
    const keys = Object.fromEntries([...this.indexed].map((field) => [field, at(document, field)]))
    this.#rows.set(id, { id, bytes: BSON.serialize(document, { ignoreUndefined: true }), keys })
    this.#orders.clear()
    this.#equals.clear()
  }

  /** The rows that a query reads, in its order and of its page, and the stages that are left to run. */
  select({ match, stages }: Query): { rows: readonly Row[]; rest: readonly Stage[] } {
    const paging = stages.findIndex((stage) => !('$sort' in stage || '$skip' in stage || '$limit' in stage))
    const rest = paging === -1 ? [] : stages.slice(paging)
    const { $sort, $skip, $limit }: Stage = Object.assign({}, ...stages.slice(0, stages.length - rest.length))
    const rows = this.matching(match, $sort as Record<string, 1 | -1> | undefined)
    const start = ($skip as number | undefined) ?? 0
    return { rows: rows.slice(start, start + (($limit as number | undefined) ?? rows.length)), rest }
  }

  /** The rows that fulfil a condition, in the order of a sort: of a field and then of the id, both in one direction. */
  matching(match: Condition, sort: Record<string, 1 | -1> = { _id: 1 }): readonly Row[] {
    const [[field, direction]] = Object.entries(sort) as [[string, 1 | -1]]
    const { equalities, others } = this.#plan(match)
    const lists = equalities.map((equality) => this.equal(equality))
    // In the order of the ids the shortest list of an index is enough; in another order all rows are walked.
    const shortest = lists.reduce((a, b) => (b.length < a.length ? b : a), this.#order('_id'))
    const candidates = field === '_id' ? shortest : this.#order(field)
    const rows = candidates.filter(
      (row) =>
        equalities.every((equality) => equals(row, equality)) && others.every((criteria) => criteria.test(decode(row))),
    )
    return direction === 1 ? rows : rows.reverse()
  }

  #plan(match: Condition): { equalities: Equality[]; others: Criteria[] } {
    const equalities: Equality[] = []
    const others: Criteria[] = []
    for (const condition of (match.$and as Condition[] | undefined) ?? [match]) {
      for (const [field, value] of Object.entries(condition)) {
        if (this.indexed.has(field) && typeof value === 'string') equalities.push({ field, value })
        else others.push(new Criteria({ [field]: value }, {}))
      }
    }
    return { equalities, others }
  }

  /** The rows in which the field is the value or holds it, in the order of the ids. */
  equal({ field, value }: { field: string; value: unknown }): readonly Row[] {
    let lists = this.#equals.get(field)
    if (lists === undefined) {
      const made = new Map<unknown, Row[]>()
      for (const row of this.#order('_id')) {
        const key = row.keys[field]
        for (const each of new Set(Array.isArray(key) ? key : [key])) {
          const list = made.get(each)
          if (list === undefined) made.set(each, [row])
          else list.push(row)
        }
      }
      this.#equals.set(field, made)
      lists = made
    }
    return lists.get(value) ?? []
  }

  #order(field: string): readonly Row[] {
    let rows = this.#orders.get(field)
    if (rows === undefined) {
      rows = [...this.#rows.values()].sort(
        (a, b) => compareValues(a.keys[field], b.keys[field]) || compareValues(a.id, b.id),
      )
      this.#orders.set(field, rows)
    }
    return rows
  }
}

const equals = (row: Row, { field, value }: Equality): boolean => {
  const key = row.keys[field]
  return key === value || (Array.isArray(key) && key.includes(value))
}
