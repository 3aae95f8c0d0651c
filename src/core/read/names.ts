// The names of what ids stand for, as they stand beside these ids.
import { DispatchListItem } from '../../../schemas/dispatches.js'
import { select } from '../../../schemas/kit.js'
import { viewOf } from '../../../schemas/views.js'
import { fieldOf, numberOf, stringOf } from '../bson/values.js'
import { entries } from '../pipelines/entries.js'
import { embeddedIn, pick, Query } from '../pipelines/stages.js'
import type { Reader } from './reader.js'
import { summaryOf } from './summaries.js'

/** What stands beside an id. */
export type Named = { readonly name: string; readonly totalExpectedEntries: number | null }

const expected = select(DispatchListItem, ['name', 'totalExpectedEntries'])

/** What stands beside ids of entries, by the id. Undefined if the field has no names, or the key does not see them. */
export const namesOf = async (reader: Reader, field: string, ids: readonly unknown[]) => {
  const join = entries.item.joined?.[field]
  if (join === undefined) return undefined
  const { from } = join
  const seen = viewOf(reader.scope.without).shown(from === 'dispatches' ? expected : join.shown)
  if (Object.keys(seen.properties).length === 0) return undefined
  const $in = [...new Set(ids)].filter((id) => typeof id === 'string')
  const { documents } = await reader.read(Query.in(embeddedIn(reader.scope), from, [{ _id: { $in } }], [pick(seen)]))
  const named = documents.map(({ bytes }): [unknown, Named] => {
    const found = (field: string) => fieldOf(bytes, 0, field)
    const name = ['name', 'firstName', 'lastName'].flatMap((part) => stringOf(bytes, found(part)) || []).join(' ')
    const totalExpectedEntries = numberOf(bytes, found('totalExpectedEntries')) ?? null
    return [stringOf(bytes, found('_id')), { name, totalExpectedEntries }]
  })
  return new Map(named)
}

/** How many names or values are compared with one. */
export const MOST_NAMES = 1000

/** The records that entries name most often, for a key that sees their names. */
export const namesInEntries = async (reader: Reader, by: string) => {
  const counted = await summaryOf(reader, { by: [by], zone: 'UTC', top: MOST_NAMES })
  const ids = counted.shown.map(({ values }) => values[0])
  const names = (await namesOf(reader, by, ids)) as ReadonlyMap<unknown, Named>
  return [...names].map(([id, { name }]) => ({ id: String(id), name }))
}
