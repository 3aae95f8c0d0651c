// What a request sees of each record, in one piece: the schema, what is read for it, and the writer. So no part can show what
// another part leaves out. Projections are pure, and the same choice has the same projection.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { Listing } from '../../../schemas/common.js'
import { flat, isJoined, JOINED_SUFFIX, joined } from '../../../schemas/kit.js'
import { viewOf, type Without } from '../../../schemas/views.js'
import type { ReferencesTo } from '../pipelines/joins.js'
import type { Resource, Shape } from '../pipelines/resource.js'
import { type Condition, embeddedIn, type Paths, pick, Query, type Scope, type Stage } from '../pipelines/stages.js'
import type { Shown } from '../write/writer.js'

/** Callers use few choices, and a forgotten one is compiled again in about a millisecond. */
const CACHED = 100

export type Choice = Pick<Listing, 'fields' | 'expand' | 'embed' | 'names' | 'labels' | 'answers'>

export interface Projection extends Shown {
  readonly schema: TObject
  /** The query of some records as they are shown: `rows` selects, sorts and skips, and `more` is read besides. */
  readonly query: (scope: Scope, conditions: readonly Condition[], rows: readonly Stage[], more?: Paths) => Query
  /** Whether a record is shown as it is stored: no part is joined, made or hidden. */
  readonly isStored: boolean
  /** What is compiled of it, such as a writer. It is kept with it. */
  readonly compiled: <W>(compile: (shown: Shown) => W) => W
}

const cache = new LRUCache<string, Projection>({ max: CACHED })

/** The projection of a resource's records: of an item of its list, or of a record by its id. */
export const projectionOf = (
  resource: Resource,
  without: Without,
  choice: Choice = {},
  shape: 'item' | 'record' = 'item',
): Projection => {
  const { fields, expand, embed, names, labels, answers } = choice
  const inOrder = (some: readonly string[] | undefined) => some && [...new Set(some)].sort().join()
  const choices = [resource.collection, shape, without, inOrder(fields), inOrder(expand), embed, names, labels, answers]
  const name = choices.join(' ')
  const known = cache.get(name)
  if (known !== undefined) return known
  const projection = make(resource, without, choice, resource[shape])
  cache.set(name, projection)
  return projection
}

const make = ({ collection }: Resource, without: Without, choice: Choice, shape: Shape): Projection => {
  const { fields, expand = [], embed, names, labels, answers } = choice
  const view = viewOf(without)
  const named = view.named(answers)
  const whole = view.shown(shape.schema)
  const all = embed === 'false' ? flat(whole) : whole.properties
  const shown = Object.keys(all).filter((name) => name === 'id' || (fields?.includes(name) ?? true))

  const visible = <R extends ReferencesTo>(references: readonly R[] = []) =>
    references
      .map((to) => ({ ...to, shown: view.shown(to.shown) }))
      .filter(({ shown }) => Object.keys(shown.properties).length > 0)
  const expanded = visible(shape.expandable).filter((to) => to.fields.some((field) => expand.includes(field)))
  const embedded = [...(embed === 'false' ? [] : visible(shape.references)), ...expanded]
  const isEmbedded = (name: string) => embedded.some((to) => to.fields.includes(name))
  const nameJoins = visible(
    Object.entries(names === 'true' ? { ...shape.joined } : {})
      .filter(([id]) => shown.includes(id) && !isEmbedded(id))
      .map(([id, to]) => ({ ...to, id, fields: [`${id}${JOINED_SUFFIX}`] })),
  )
  const references = [...embedded, ...nameJoins]

  const properties: Record<string, TSchema> = {}
  for (const name of shown) {
    const property = all[name] as TSchema
    // What can be embedded in an item is a union of an id and a record.
    const own = { [name]: isEmbedded(name) ? Type.Optional(property.anyOf.find(isJoined)) : property }
    const join = nameJoins.find(({ id }) => id === name)
    const withName = join && { [`${name}${JOINED_SUFFIX}`]: Type.Optional(joined(join.shown)) }
    Object.assign(properties, labels === 'true' ? { ...withName, ...own } : { ...own, ...withName })
  }
  const schema = Type.Object(properties)
  const ids = references.flatMap(({ fields }) => fields)
  const { $project } = pick(schema, ids, named)
  const made = Object.entries(shape.stages ?? {}).filter(([name]) => name in schema.properties)
  const copies = nameJoins.map(({ id }): Stage => ({ $set: { [`${id}${JOINED_SUFFIX}`]: `$${id}` } }))
  const joins = references.map(({ from, fields, shown }) => ({ from, fields, stage: pick(shown) }))
  const compiled = new Map<unknown, unknown>()
  return {
    schema,
    named,
    isStored: made.length + references.length === 0 && without === undefined,
    compiled<W>(compile: (shown: Shown) => W) {
      const known = (compiled.get(compile) as W | undefined) ?? compile({ schema, named })
      compiled.set(compile, known)
      return known
    },
    query(scope, conditions, rows, more) {
      const stages = made.flatMap(([name, stagesOf]) => stagesOf(scope, name))
      const shaping = [...rows, ...stages, ...copies, { $project: { ...$project, ...more } }]
      const found = joins.map(({ from, fields, stage }) => ({
        fields,
        find: (ids: readonly unknown[]) => Query.in(embeddedIn(scope), from, [{ _id: { $in: ids } }], [stage]),
      }))
      return Query.in(scope, collection, conditions, shaping, found)
    },
  }
}
