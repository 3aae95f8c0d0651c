// The sets of the projects and forms that a record has left, as expressions of MongoDB on what is stored: both stores write
// them. A set that is not an array is another program's fault and counts as empty.
import { type TSchema, Type } from '@sinclair/typebox'
import { former, id, narrowedBy, type RecordCollection } from './collections.js'

type Fields<T = unknown> = Readonly<Record<string, T>>

/** The fields of a collection whose former values are kept, each with the field that has the set of them. */
const movesOf = (name: RecordCollection) =>
  (Object.entries(former) as [keyof typeof former, string][]).filter(([field]) => narrowedBy[name]?.[field] === field)

export const setsOf = (name: RecordCollection): Fields<TSchema> =>
  Object.fromEntries(movesOf(name).map(([, set]) => [set, Type.Optional(Type.Array(id))]))

const everIn = (field: string, set: string) => ({
  $setUnion: [
    { $cond: [{ $isArray: [`$${set}`] }, `$${set}`, []] },
    { $cond: [{ $eq: [{ $type: `$${field}` }, 'string'] }, [`$${field}`], []] },
  ],
})

/** What a tombstone keeps of its record: the fields, and the sets of all ids that these have had. */
export const keptOf = (name: RecordCollection): Fields =>
  Object.assign({}, ...movesOf(name).map(([field, set]) => ({ [field]: 1, [set]: everIn(field, set) })))

/** The sets of a record that replaces what is stored: all ids of before but those of its own fields. None is stored empty. */
export const formerOf = (name: RecordCollection, record: object): Fields => {
  const without = ([field, set]: readonly [string, string]) => {
    const ids = { $setDifference: [everIn(field, set), [{ $literal: (record as Fields)[field] ?? null }]] }
    return [set, { $let: { vars: { ids }, in: { $cond: [{ $size: '$$ids' }, '$$ids', '$$REMOVE'] } } }]
  }
  return Object.fromEntries(movesOf(name).map(without))
}
