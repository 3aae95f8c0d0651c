// Reads for one request: what its key may see, in the turns of its ticket.
import { hash } from 'node:crypto'
import type { BsonDocument, BsonList } from '../bson/reader.js'
import type { Ticket } from '../limits/scheduler.js'
import { allEnded } from '../limits/work.js'
import type { Resource } from '../pipelines/resource.js'
import { Query, restrictionsOn, type Scope } from '../pipelines/stages.js'
import { type ProblemError, problem } from '../problems/problems.js'
import { readWithReferences } from '../store/references.js'
import type { Cache, Store, Timed } from '../store/store.js'
import { isLargePage, onTimeout, timeoutProblem } from './cost.js'
import { type Page, type Placing, readPage } from './page.js'
import type { Start } from './position.js'
import type { Projection } from './projection.js'
import { type Parameters, rowsQuery, type Selection, selectionOf } from './selection.js'
import { bindingOf } from './token.js'
import { PAGE_BYTES, pagesOf, type ReadSlice } from './walk.js'

/** What says which records are counted. */
export type Counted = Pick<Selection, 'resource' | 'conditions'>

/** How long work that has begun waits for its next turn, in milliseconds. */
export const WAIT_BETWEEN_MS = 60_000

export class Reader {
  constructor(
    readonly store: Pick<Store & Cache, 'aggregate' | 'count' | 'knownIndexes' | 'cached' | 'isQuick'>,
    readonly scope: Scope,
    readonly ticket: Ticket,
    /** Whether what it reads is known to be quick, so that no other task has to wait for it. */
    readonly isQuick = false,
    /** Takes the time of each turn. */
    readonly timed: Timed = (work) => work(),
  ) {}

  select<P extends Parameters>(resource: Resource, parameters: P): Selection {
    const within = restrictionsOn(resource.collection, this.scope).map(({ field }) => field)
    return { ...selectionOf(resource, this.scope.without, parameters), within }
  }

  /** The documents of a query, with the records that they refer to. */
  read(query: Query): Promise<BsonList> {
    return readWithReferences(this.store, query, this.ticket.reading)
  }

  /** A page by its number or from a position. A large one is a large task. `query_timeout` says what would help. */
  async page(selection: Selection, placing: Placing, start?: Start): Promise<Page> {
    if (isLargePage(this.store, selection, placing.perPage)) await this.ticket.becomeLarge()
    const isFar = placing.page > 1 && placing.cursor === undefined && start === undefined
    return readPage(selection.order, placing, start, this.#slicesOf(selection, isFar))
  }

  /** A function that reads the next page of a whole list: few records at first, and then as many as fit. The last page is empty. */
  pages(selection: Selection, limit?: number): () => Promise<readonly BsonDocument[]> {
    return pagesOf(selection.order, this.#slicesOf(selection), limit)
  }

  /**
   * Uses all records of a list, page by page, each page in a turn of its own. While a page is used, the next one is read. What
   * has begun, or needs much memory, waits longer for its turns.
   * @param use returns whether it wants no more
   * @param needs how many bytes it holds of what was used, at the most
   */
  each(
    selection: Selection,
    use: (rows: readonly BsonDocument[]) => Promise<boolean>,
    { limit, needs = 0 }: { limit?: number | undefined; needs?: number } = {},
  ): Promise<void> {
    const next = this.pages(selection, limit)
    const { ticket } = this
    let rows: readonly BsonDocument[] = []
    const page = async () => {
      const [isEnough, following] = await allEnded([rows.length > 0 && use(rows), next()])
      rows = isEnough ? [] : following
    }
    return ticket.yieldWhile(() =>
      ticket.reserving(needs + 2 * PAGE_BYTES, async () => {
        await this.large(page, needs > 0 ? WAIT_BETWEEN_MS : undefined)
        while (rows.length > 0) await this.large(page, WAIT_BETWEEN_MS)
      }),
    )
  }

  /** A record by its id. One of another organisation throws the problem `not_found` too. */
  async record(resource: Resource, id: string, { query }: Projection): Promise<BsonDocument> {
    const [document] = (await this.read(query(this.scope, [{ _id: id }], []))).documents
    if (document === undefined) throw notFound(resource)
    return document
  }

  /** How many records there are, or were when they were last counted. */
  count(selection: Counted): Promise<number> {
    const { resource, conditions } = selection
    const key = { of: 'count', collection: resource.collection, conditions }
    return this.cached(key, (shared) => shared.countNow(selection))
  }

  countNow({ resource: { collection }, conditions }: Counted): Promise<number> {
    const query = Query.in(this.scope, collection, Object.values(conditions), [])
    return this.large(() => this.store.count(query))
  }

  /**
   * What is in the cache, or is read now. All who ask share one reading, which goes on when they leave.
   * @param key any JSON that says what it is. The scope is added.
   */
  cached<T>(
    key: { readonly of: string; readonly [name: string]: unknown },
    read: (shared: Reader) => Promise<T>,
  ): Promise<T> {
    const { store, scope, ticket } = this
    const place = hash('sha256', JSON.stringify([bindingOf(scope), key]))
    const isQuick = store.isQuick(place)
    const cached = () => store.cached(place, (timed) => read(new Reader(store, scope, ticket.shared(), isQuick, timed)))
    return isQuick ? cached() : ticket.yieldWhile(cached)
  }

  /** Does a piece of work as a large task, unless it is known to be quick. */
  async large<T>(work: () => Promise<T>, waitMs?: number): Promise<T> {
    const { ticket } = this
    const turn = () => this.timed(work)
    if (!this.isQuick) return ticket.large(turn, waitMs)
    try {
      return await turn()
    } finally {
      ticket.stop()
    }
  }

  #slicesOf(selection: Selection, isFar = false): ReadSlice {
    const tooLong = onTimeout(() => timeoutProblem(this.store, selection, isFar))
    return async (order, slice) =>
      (await this.read(rowsQuery(this.scope, selection, order, slice)).catch(tooLong)).documents
  }
}

export const notFound = ({ name }: Resource): ProblemError => problem('not_found', `No ${name} has this id`)
