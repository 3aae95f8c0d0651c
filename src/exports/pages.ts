// Reads a whole list in the order of ids, page by page.
import { BsonList, ResponseTooLarge, UnwritableDocument } from '../bson/reader.js'
import { MAX_ID_BYTES, positionOf } from '../paging/position.js'
import { OTHER_ID_TYPES } from '../pipelines/keyset.js'
import type { Resource } from '../pipelines/resource.js'
import type { Condition, Listing, Query, Scope, Slice } from '../pipelines/stages.js'
import { idOf } from '../serializer/items.js'

const MOST_ROWS = 1000
/** Of two rows one has a position, unless both are damaged. */
const LEAST_ROWS = 2
/** About how many bytes of BSON a page has. */
const PAGE_BYTES = 2 * 1024 * 1024

/** What is read: the filters of a list, and what it shows. */
export type Selection = Omit<Listing, 'sortBy' | 'page' | 'perPage'>

/** Runs a query of an export. */
export type Read = (query: Query) => Promise<BsonList>

export class Pages {
  readonly #listing: Listing
  readonly #isDescending: boolean
  #last: string | undefined
  #rows = MOST_ROWS
  #left: number
  #isOver = false

  /** @param limit the most records that are read */
  constructor(
    readonly resource: Pick<Resource<Listing>, 'list'>,
    readonly scope: Scope,
    selection: Selection,
    limit = Number.POSITIVE_INFINITY,
  ) {
    this.#listing = { ...selection, sortBy: 'id', page: 1, perPage: MOST_ROWS }
    this.#isDescending = selection.sortOrder === 'desc'
    this.#left = limit
  }

  /**
   * The next records, or undefined after the last.
   * @throws UnwritableDocument if no position is behind its records
   */
  async next(read: Read): Promise<BsonList | undefined> {
    if (this.#isOver || this.#left === 0) return undefined
    const { list, limit } = await this.#first(Math.min(this.#rows, this.#left), read)
    const { documents, size } = list
    if (documents.length < limit) {
      this.#isOver = true
      const others = await this.#others(this.#left - documents.length, read)
      const found = [...list.batches, ...others.batches]
      return documents.length + others.documents.length === 0 ? undefined : new BsonList(list.collection, found)
    }
    // A row that has no position is the first of the next page, unless it is alone.
    const last = documents.findLast((row) => positionOf(row, '_id') !== undefined)
    if (last === undefined) throw unplaced(list.collection, documents[0] as Buffer)
    this.#last = positionOf(last, '_id')?.id
    this.#left -= documents.indexOf(last) + 1
    const fitting = Math.floor((PAGE_BYTES * documents.length) / size)
    this.#rows = Math.max(LEAST_ROWS, Math.min(MOST_ROWS, 2 * this.#rows, fitting))
    return list.upTo(last)
  }

  /** The next rows. If they are too large to be read at once, they are fewer. */
  async #first(limit: number, read: Read): Promise<{ list: BsonList; limit: number }> {
    const slice: Slice = { range: this.#range(), isBackward: false, skip: 0, limit }
    try {
      return { list: await read(this.resource.list(this.scope, this.#listing, slice)), limit }
    } catch (error) {
      if (!(error instanceof ResponseTooLarge) || limit === 1) throw error
      return this.#first(Math.floor(limit / 2), read)
    }
  }

  /** Conditions on the id find texts alone. */
  #range(): Condition {
    if (this.#last === undefined) return { _id: { $gte: '' } }
    return { _id: { [this.#isDescending ? '$lt' : '$gt']: this.#last } }
  }

  /** Records whose ids are no texts, which are in no page. An export must not end as if they did not exist. */
  async #others(left: number, read: Read): Promise<BsonList> {
    const limit = Math.min(MOST_ROWS, left)
    const slice = { range: { _id: { $type: OTHER_ID_TYPES } }, isBackward: false, skip: 0, limit }
    const others = await read(this.resource.list(this.scope, this.#listing, slice))
    const { collection, documents } = others
    if (documents.length === MOST_ROWS) throw unplaced(collection, documents.at(-1) as Buffer)
    return others
  }
}

const unplaced = (collection: string, row: Buffer): UnwritableDocument =>
  new UnwritableDocument(
    collection,
    idOf(row),
    '_id',
    `is not a string of valid UTF-8 with at most ${MAX_ID_BYTES} bytes, so no export can go on after it`,
  )
