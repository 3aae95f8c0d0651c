// The sets of the projects and forms that a record has left, as expressions of MongoDB on what is stored: both stores write
// them. A set that is not an array is another program's fault and counts as empty.
import { former, narrowedBy, type RecordCollection } from './collections.js'

/** The fields of a collection whose former values are kept, each with the field that has the set of them. */
export const movesOf = (name: RecordCollection): (readonly [field: keyof typeof former, set: string])[] =>
  (['project', 'form'] as const).flatMap((field) =>
    narrowedBy[name]?.[field] === field ? [[field, former[field]] as const] : [],
  )

/** All ids that a field has had, with the one that it has. */
const everIn = (field: string, set: string) => ({
  $setUnion: [
    { $cond: [{ $isArray: [`$${set}`] }, `$${set}`, []] },
    { $cond: [{ $eq: [{ $type: `$${field}` }, 'string'] }, [`$${field}`], []] },
  ],
})

/** What a tombstone keeps of its record: the fields, and sets of all that they have had. */
export const keptOf = (name: RecordCollection): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    movesOf(name).flatMap(([field, set]) => [
      [field, 1],
      [set, everIn(field, set)],
    ]),
  )

/** The sets of a record that takes the place of what is stored: of all but what its own fields have, and none if empty. */
export const formerOf = (name: RecordCollection, record: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    movesOf(name).map(([field, set]) => {
      const { [field]: own = null } = record as { readonly [F in typeof field]?: unknown }
      const ids = { $setDifference: [everIn(field, set), [{ $literal: own }]] }
      return [set, { $let: { vars: { ids }, in: { $cond: [{ $size: '$$ids' }, '$$ids', '$$REMOVE'] } } }]
    }),
  )
