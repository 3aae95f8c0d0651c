// The queries of the change feed. They are pure functions, without I/O.
import { DELETED_AT, DELETED_FROM, type RecordCollection } from '../documents/collections.js'
import {
  type Condition,
  embeddedIn,
  hasBeenWithin,
  type Paths,
  Query,
  type Scope,
  type Stage,
} from '../pipelines/stages.js'
import type { Projection } from '../reading/projection.js'

/** The field that orders the records of a feed. Tombstones are ordered by `deletedAt`. */
export type Stamp = 'changedAt' | 'updatedAt'

export type StampBounds = { readonly [B in '$gte' | '$gt' | '$lt' | '$lte']?: Date }

/** A part of a feed that is one range of an index: the rows between two stamps, or rows of one stamp after an id. */
export interface FeedRange {
  /** The stamp of all rows, or its bounds. Null finds rows without a stamp. */
  readonly stamp: Date | null | StampBounds
  readonly ids?: object | undefined
}

export interface Feed {
  readonly scope: Scope
  readonly collection: RecordCollection
  readonly projection: Projection
}

/** How many rows are looked at for each row of a page that a scope may show, and at the most. */
const LOOKED_AT = 20
const MOST_LOOKED_AT = 20_000

/**
 * The first records of a range with their stamps, and the first tombstones of the range. Each of the two is in order.
 * Tombstones always have a stamp.
 *
 * In a scope that is narrower than the organisation, these are the ones among the first rows of the range that are in the
 * scope, or have been. If there are more rows, the last of the first ones is an edge, which has no owner: it is read before
 * the others, so that nothing before it is missing among them.
 */
export const rowsIn = (
  { scope, collection, projection }: Feed,
  stamp: Stamp,
  range: FeedRange,
  limit: number,
  lookedAt = LOOKED_AT,
): Query => {
  // A copy that begins has no record that has left the scope without a stamp.
  const isPart = scope.only !== undefined && range.stamp !== null
  const within = isPart ? embeddedIn(scope) : scope
  const most = Math.min(lookedAt * limit, MOST_LOOKED_AT)
  const inOrder = (field: string): Stage => ({ $sort: { [field]: 1, _id: 1 } })
  const part = isPart ? [{ $limit: most }, { $match: { $and: hasBeenWithin(scope, collection) } }] : []
  const first = (field: string): Stage[] => [inOrder(field), ...part, { $limit: limit }]
  const conditions = exactly(stamp, range)
  // The writer leaves out all other fields, so the database need not.
  const changes = projection.isStored
    ? Query.in(within, collection, conditions, first(stamp))
    : projection.query(within, conditions, first(stamp), { [stamp]: 1, organisation: 1 })
  if (range.stamp === null) return changes
  const deleted = (stages: Stage[]) => Query.deletedFrom(scope, collection, exactly(DELETED_AT, range), stages)
  const deletions = deleted([
    ...first(DELETED_AT),
    { $set: { deleted: { $literal: true } } },
    { $project: { _id: 1, deleted: 1, [DELETED_AT]: 1, [DELETED_FROM]: 1 } },
  ])
  const rows = changes.and(deletions)
  if (!isPart) return rows
  const edge = (field: string): Stage[] => [
    inOrder(field),
    { $skip: most - 1 },
    { $limit: 1 },
    { $project: { _id: 1, [field]: 1 } as Paths },
  ]
  return Query.in(within, collection, conditions, edge(stamp)).and(deleted(edge(DELETED_AT)).and(rows))
}

/**
 * The newest record and the newest tombstone of a range, each with nothing but its id and its stamp. They are those of the whole
 * organisation, because the newest ones of a scope may be hard to find.
 */
export const newestIn = ({ scope, collection }: Feed, stamp: Stamp, range: FeedRange): Query => {
  const newest = (...fields: [string, ...string[]]): Stage[] => [
    { $sort: { [fields[0]]: -1, _id: -1 } },
    { $limit: 1 },
    { $project: Object.fromEntries(fields.map((name) => [name, 1])) },
  ]
  const newestDeletion = newest(DELETED_AT, DELETED_FROM)
  const deletion = Query.deletedFrom(scope, collection, exactly(DELETED_AT, range), newestDeletion)
  return Query.in(embeddedIn(scope), collection, exactly(stamp, range), newest(stamp)).and(deletion)
}

/** An array of dates has several places in the order, so it does not count as a stamp. */
const exactly = (field: string, { stamp, ids }: FeedRange): Condition[] => [
  { [field]: stamp },
  ...(ids === undefined ? [] : [{ _id: ids }]),
  { [field]: { $not: { $type: 'array' } } },
]
