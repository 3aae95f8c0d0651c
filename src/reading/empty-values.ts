// Rows whose sort value is missing or null, which MongoDB takes as equal: they are in the order of their ids. Some compatible
// servers put all rows of one kind before those of the other.
import { Bson, type BsonDocument } from '../bson/reader.js'
import { fieldOf } from '../bson/values.js'
import type { Direction, NoValue } from '../pipelines/keyset.js'

/**
 * Puts rows without a sort value in the order of their ids. If there are more such rows, the server may have put rows of one
 * kind behind all rows of the other, so the first rows of that kind are read too. On MongoDB that finds the same rows once more.
 * @param rows the rows in the order of the server, which are as many as are wanted
 * @param isWhole whether there are no more of them
 * @param ids the condition on their ids, if there is one
 * @param read the first rows of one kind whose ids meet a condition, if it has one
 */
export const inOrderOfIds = async (
  rows: readonly BsonDocument[],
  order: { field: string; direction: Direction; isWhole: boolean; ids: object | undefined },
  read: (value: NoValue, ids: object | undefined) => Promise<readonly BsonDocument[]>,
): Promise<BsonDocument[]> => {
  const { field, direction, isWhole, ids } = order
  const found = new Map(rows.map((row) => [sortKeyOfId(row), row]))
  const inOrder = () => [...found.keys()].sort((a, b) => (a < b ? -direction : direction))
  if (!isWhole) {
    const isMissing = ({ bytes }: BsonDocument) => fieldOf(bytes, 0, field) === undefined
    const isLastMissing = isMissing(rows.at(-1) as BsonDocument)
    const areOfOneKind = rows.every((row) => isMissing(row) === isLastMissing)
    const lastKey = inOrder().at(-1) as string
    const value: NoValue = areOfOneKind === isLastMissing ? { $type: 'null' } : { $exists: false }
    const upTo = direction === 1 ? '$lte' : '$gte'
    const isText = lastKey.startsWith(STRING)
    const idsUpTo = isText ? { ...ids, [upTo]: Buffer.from(lastKey.slice(1), 'latin1').toString() } : ids
    for (const row of await read(value, idsUpTo)) found.set(sortKeyOfId(row), row)
  }
  return inOrder()
    .map((key) => found.get(key) as BsonDocument)
    .slice(0, rows.length)
}

const [NUMBER, STRING, OTHER] = ['1', '2', '3']

/**
 * A text that stands for the id of a row. For strings it sorts by their UTF-8 bytes, each of which is a character of it. Other
 * ids stand before or behind all strings, as in MongoDB.
 */
export const sortKeyOfId = ({ bytes }: BsonDocument): string => {
  const id = fieldOf(bytes, 0, '_id')
  if (id === undefined) return OTHER
  if (id.type === Bson.string) return STRING + bytes.toString('latin1', id.at + 4, id.next - 1)
  const isNumber = id.type === Bson.double || id.type === Bson.int32 || id.type === Bson.int64
  return (isNumber ? NUMBER : OTHER) + bytes.toString('latin1', id.at, id.next)
}
