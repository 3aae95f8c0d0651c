// The queries of the change feed. They are pure functions, without I/O.
import { DELETED_AT, DELETED_FROM, hasParts, type RecordCollection } from '../core/documents/collections.js'
import { embeddedIn, hasBeenWithin, hasLeft, Query, type Scope, type Stage } from '../core/pipelines/stages.js'
import type { Projection } from '../core/read/projection.js'

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

const first = (field: string, limit: number): Stage[] => [{ $sort: { [field]: 1, _id: 1 } }, { $limit: limit }]

/** The first records of a range with their stamps, in order. */
export const changesIn = ({ scope, collection, projection }: Feed, stamp: Stamp, range: FeedRange, limit: number) => {
  const conditions = exactly(stamp, range)
  // The writer leaves out all other fields, so the database need not.
  return projection.isStored
    ? Query.in(scope, collection, conditions, first(stamp, limit))
    : projection.query(scope, conditions, first(stamp, limit), { [stamp]: 1 })
}

/** The first tombstones of a range, and as such records that have left a narrower scope. Each of both is in order. */
export const deletionsIn = ({ scope, collection }: Feed, stamp: Stamp, range: FeedRange, limit: number): Query => {
  const deletion: Stage[] = [
    { $set: { deleted: { $literal: true } } },
    { $project: { _id: 1, deleted: 1, [DELETED_AT]: 1, [DELETED_FROM]: 1 } },
  ]
  const hasBeen = [...hasBeenWithin(scope, collection), ...exactly(DELETED_AT, range)]
  const deletions = Query.deletedFrom(scope, collection, hasBeen, [...first(DELETED_AT, limit), ...deletion])
  // No project and no form leaves a scope.
  if (scope.only === undefined || !hasParts(collection)) return deletions
  const asDeleted: Stage = { $set: { [DELETED_AT]: `$${stamp}`, [DELETED_FROM]: '$organisation' } }
  const left = [...hasLeft(scope, collection), ...exactly(stamp, range)]
  // One query for both would cost twice as much for each record that is in neither.
  return Query.in(embeddedIn(scope), collection, left, [...first(stamp, limit), asDeleted, ...deletion]).and(deletions)
}

/**
 * The record and the tombstone of a range behind so many others: from the oldest on, or with the direction -1 from the newest on.
 * Each has nothing but its id, its stamp and its owner. They are those of the whole organisation, because those of a narrower
 * scope may be hard to find. Rows that are skipped may belong to nobody, so that an index has all that is read of them.
 */
export const rowAt = (feed: Feed, stamp: Stamp, range: FeedRange, skip: number, direction: 1 | -1 = 1) => {
  const { scope, collection } = feed
  const isFirst = skip === 0
  const one = (field: string, owner: string): Stage[] => [
    { $sort: { [field]: direction, _id: direction } },
    ...(isFirst ? [] : [{ $skip: skip }, { $match: isOneDate(field) }]),
    { $limit: 1 },
    { $project: { _id: 1, [field]: 1, [owner]: 1 } },
  ]
  const conditions = (field: string) => (isFirst ? exactly(field, range) : inRange(field, range))
  const deletion = Query.deletedFrom(scope, collection, conditions(DELETED_AT), one(DELETED_AT, DELETED_FROM))
  const records = Query.in(embeddedIn(scope), collection, conditions(stamp), one(stamp, 'organisation'))
  return (isFirst ? records : records.covered()).and(deletion)
}

const inRange = (field: string, { stamp, ids }: FeedRange) => [
  { [field]: stamp },
  ...(ids === undefined ? [] : [{ _id: ids }]),
]

/** An array of dates has several places in the order, so it does not count as a stamp. */
const isOneDate = (field: string) => ({ [field]: { $not: { $type: 'array' } } })

const exactly = (field: string, range: FeedRange) => [...inRange(field, range), isOneDate(field)]
