// The indexes of each collection: few, because all writers pay for every one (docs/decisions/0004-indexes.md).
import { CHANGED_AT, type CollectionName, collections, isRecordCollection } from './collections.js'

/** The fields of an index, in order. All are ascending, because a database reads an index in both directions. */
export type Index = readonly string[]

/** Every index of records begins with it. An index of tombstones does not. */
const OWNER = 'organisation'

/** The index of tombstones. It contains nothing else. */
export const TOMBSTONE_INDEX: Index = ['deletedFrom', 'deletedAt', '_id']

export const indexBy = (fields: Index): Index => [OWNER, ...fields.filter((field) => field !== '_id'), '_id']

const COORDINATES = indexBy(['location.coordinates.longitude', 'location.coordinates.lattitude'])

/** The indexes of every collection of records. The first one has all that a digest reads. */
const ofRecords: readonly Index[] = [
  [OWNER, '_id', 'updatedAt'],
  ...['updatedAt', CHANGED_AT, 'createdAt'].map((field) => indexBy([field])),
]

/** The indexes of a collection, without the two indexes of tombstones. */
export const indexesOf = (name: CollectionName): readonly Index[] => {
  if (name === 'apiKeys') return [indexBy([])]
  if (!isRecordCollection(name)) return []
  const ofFilters = collections[name].filters.map((field) => indexBy([field]))
  return [...ofRecords, ...ofFilters, ...(name === 'entries' ? [COORDINATES] : [])]
}

export const hasIndex = (indexes: readonly Index[], index: Index): boolean =>
  indexes.some((each) => each.join() === index.join())

/** What a list needs of an index: which fields have one value, which a range of them, and by which it is sorted. */
export interface IndexNeed {
  readonly equal: readonly string[]
  readonly ranges: readonly string[]
  readonly sort: string
}

/** The field by which a list is sorted, once some fields have one value. */
const orderIn = ({ equal, sort }: IndexNeed): string => (equal.includes(sort) ? '_id' : sort)

/** The index from which a list is read in its order; or if that is not possible, by which its records are found. */
export const servingIndex = (need: IndexNeed): Index => {
  const { equal, ranges } = need
  const order = orderIn(need)
  const others = ranges.filter((field) => field !== order && field !== '_id')
  return indexBy([...equal, ...(others.length > 0 ? others : [order])])
}

/** Whether one of some indexes has a list in its order, and nothing else in between: then a page costs the same at any size. */
export const isServed = (need: IndexNeed, indexes: readonly Index[]): boolean => {
  const { equal, ranges } = need
  const order = orderIn(need)
  if (ranges.some((field) => field !== order)) return false
  return indexes.some(([owner, ...fields]) => {
    const found = fields.slice(0, equal.length)
    const rest = fields.slice(equal.length)
    const isInOrder = rest[0] === order && (order === '_id' || rest[1] === '_id')
    return owner === OWNER && equal.every((field) => found.includes(field)) && isInOrder
  })
}
