// The queries of the change feed. They are pure functions, without I/O.
import { DELETED_AT, DELETED_FROM, type RecordCollection } from '../documents/collections.js'
import { type Condition, Query, type Scope, type Stage } from '../pipelines/stages.js'
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

/**
 * The first records of a range with their stamps, and the first tombstones of the range. Each of the two is in order.
 * Tombstones always have a stamp.
 */
export const rowsIn = (
  { scope, collection, projection }: Feed,
  stamp: Stamp,
  range: FeedRange,
  limit: number,
): Query => {
  const first = (field: string): Stage[] => [{ $sort: { [field]: 1, _id: 1 } }, { $limit: limit }]
  const conditions = exactly(stamp, range)
  // The writer leaves out all other fields, so the database need not.
  const changes = projection.isStored
    ? Query.in(scope, collection, conditions, first(stamp))
    : projection.query(scope, conditions, first(stamp), { [stamp]: 1 })
  if (range.stamp === null) return changes
  const deletions = Query.deletedFrom(scope, collection, exactly(DELETED_AT, range), [
    ...first(DELETED_AT),
    { $set: { deleted: { $literal: true } } },
    { $project: { _id: 1, deleted: 1, [DELETED_AT]: 1, [DELETED_FROM]: 1 } },
  ])
  return changes.and(deletions)
}

/** The newest record and the newest tombstone of a range, each with nothing but its id and its stamp. */
export const newestIn = ({ scope, collection }: Feed, stamp: Stamp, range: FeedRange): Query => {
  const newest = (...fields: [string, ...string[]]): Stage[] => [
    { $sort: { [fields[0]]: -1, _id: -1 } },
    { $limit: 1 },
    { $project: Object.fromEntries(fields.map((name) => [name, 1])) },
  ]
  const newestDeletion = newest(DELETED_AT, DELETED_FROM)
  const deletion = Query.deletedFrom(scope, collection, exactly(DELETED_AT, range), newestDeletion)
  return Query.in(scope, collection, exactly(stamp, range), newest(stamp)).and(deletion)
}

/** An array of dates has several places in the order, so it does not count as a stamp. */
const exactly = (field: string, { stamp, ids }: FeedRange): Condition[] => [
  { [field]: stamp },
  ...(ids === undefined ? [] : [{ _id: ids }]),
  { [field]: { $not: { $type: 'array' } } },
]
