// Puts rows whose sort value is missing or null in the order of their ids, as MongoDB does. An index of a compatible server
// has all rows of one kind before those of the other.
import { type BsonDocument, BsonList } from '../bson/reader.js'
import { fieldOf, present, sortKeyOfId } from '../bson/values.js'
import type { Query } from '../pipelines/stages.js'

type Sorted = Pick<Query, 'collection' | 'match' | 'stages' | 'union'>

/**
 * The documents of a query. If it sorts and skips none, those without a sort value are in the order of their ids. If the server
 * may have more of them behind all rows of the other kind, the first of these are read too.
 * @param tellsApart whether the server may do that
 */
export const inOrderOfIds = async (
  query: Sorted,
  read: (query: Sorted) => Promise<BsonList>,
  tellsApart: () => Promise<boolean>,
): Promise<BsonList> => {
  const list = await read(query)
  const [{ $sort = {} } = {}, { $limit } = {}, ...others] = query.stages
  const [[field, direction] = ['_id', 1]] = Object.entries($sort)
  const { documents: rows } = list
  const isEmpty = (row: BsonDocument | undefined) =>
    row !== undefined && present(fieldOf(row.bytes, 0, field)) === undefined
  // Such rows are at one end of a list.
  const hasEmpty = field !== '_id' && query.union === undefined && (isEmpty(rows[0]) || isEmpty(rows.at(-1)))
  if ($limit === undefined || !hasEmpty || !(await tellsApart())) return list

  const valued = rows.filter((row) => !isEmpty(row))
  const empty = rows.filter(isEmpty)
  const found = new Map(empty.map((row) => [sortKeyOfId(row.bytes), row]))
  if (rows.length === $limit) {
    const isMissing = ({ bytes }: BsonDocument) => fieldOf(bytes, 0, field) === undefined
    const isLastMissing = isMissing(empty.at(-1) as BsonDocument)
    const areOfOneKind = empty.every((row) => isMissing(row) === isLastMissing)
    const kind = areOfOneKind === isLastMissing ? { $type: 'null' } : { $exists: false }
    const stages = [{ $sort }, { $limit: empty.length }, ...others]
    const more = await read({ ...query, match: { $and: [query.match, { [field]: kind }] }, stages })
    for (const row of more.documents) found.set(sortKeyOfId(row.bytes), row)
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -direction : direction))
  const inOrder = sorted.slice(0, empty.length).map(([, row]) => row)
  const all = direction === 1 ? [...inOrder, ...valued] : [...valued, ...inOrder]
  const bytes = all.map((row) => row.bytes)
  return new BsonList(list.collection, bytes)
}
