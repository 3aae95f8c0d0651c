// What a request sees of each record, in one piece: the schema, what is read for it, and the writer. So no part of it can show
// more than another has left out. Projections are pure, and the same choice has the same one.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { BESIDE, flat, isJoined, joined } from '../../schemas/kit.js'
import { viewOf, type Without } from '../../schemas/views.js'
import type { ReferencesTo } from '../pipelines/joins.js'
import type { Resource, Shape } from '../pipelines/resource.js'
import { type Condition, type Listing, type Paths, pick, Query, type Scope, type Stage } from '../pipelines/stages.js'
import type { Shown } from '../serializer/writer.js'

/** Callers use few choices, and a forgotten one is compiled again in about a millisecond. */
const KEPT = 100

/** What a request wants to see of each record. */
export type Choice = Pick<Listing, 'fields' | 'expand' | 'embed' | 'names' | 'answers'>

export interface Projection extends Shown {
  readonly schema: TObject
  /**
   * The query of some records as they are shown.
   * @param rows the stages that select rows: sort, skip and limit
   * @param more stored fields that are read besides
   */
  readonly query: (scope: Scope, conditions: readonly Condition[], rows: readonly Stage[], more?: Paths) => Query
  /** Whether a record is shown as it is stored: no part is joined, made or hidden. */
  readonly isStored: boolean
  /** What is compiled of it, such as a writer. It is kept with it. */
  readonly compiled: <W>(compile: (shown: Shown) => W) => W
}

const kept = new LRUCache<string, Projection>({ max: KEPT })

/**
 * The projection of a resource's records.
 * @param without what the caller does not see
 * @param shape that of an item of the list, or that of a record by its id
 */
export const projectionOf = (
  resource: Resource,
  without: Without,
  choice: Choice = {},
  shape: 'item' | 'record' = 'item',
): Projection => {
  const { fields, expand, embed, names, answers } = choice
  const inOrder = (some: readonly string[] | undefined) => some && [...new Set(some)].sort().join()
  const name = [resource.collection, shape, without, inOrder(fields), inOrder(expand), embed, names, answers].join(' ')
  const projection = kept.get(name) ?? make(resource, without, choice, resource[shape])
  kept.set(name, projection)
  return projection
}

const make = ({ collection }: Resource, without: Without, choice: Choice, shape: Shape): Projection => {
  const { fields, expand = [], embed, names, answers } = choice
  const view = viewOf(without)
  const named = view.named(answers)
  const whole = view.shown(shape.schema)
  const all = embed === 'false' ? flat(whole) : whole.properties
  const shown = Object.keys(all).filter((name) => name === 'id' || (fields?.includes(name) ?? true))

  const seen = (references: readonly ReferencesTo[] = []) =>
    references
      .map((to) => ({ ...to, shown: view.shown(to.shown) }))
      .filter(({ shown }) => Object.keys(shown.properties).length > 0)
  const expanded = seen(shape.expandable).filter((to) => to.fields.some((field) => expand.includes(field)))
  const isExpanded = (name: string) => expanded.some((to) => to.fields.includes(name))
  const isNamed = (name: string) => names === 'true' && shown.includes(name) && !isExpanded(name)
  const beside = seen(shape.beside).filter(({ fields: [field] }) => isNamed(idBeside(field as string)))
  const references = [...(embed === 'false' ? [] : seen(shape.references)), ...expanded, ...beside]

  const schema = Type.Object(
    Object.fromEntries(
      shown.flatMap((name): [string, TSchema][] => {
        const property = all[name] as TSchema
        // What can be expanded is a union of an id and a record.
        const own = isExpanded(name) ? Type.Optional(property.anyOf.find(isJoined)) : property
        const names = beside.filter(({ fields: [field] }) => idBeside(field as string) === name)
        return [
          [name, own],
          ...names.map((to): [string, TSchema] => [`${name}${BESIDE}`, Type.Optional(joined(to.shown))]),
        ]
      }),
    ),
  )
  const { $project } = pick(
    schema,
    references.flatMap((to) => to.fields),
    named,
  )
  const made = Object.entries(shape.stages ?? {}).filter(([name]) => name in schema.properties)
  const copies = beside.map(
    ({ fields: [field] }): Stage => ({ $set: { [field as string]: `$${idBeside(field as string)}` } }),
  )
  const joins = references.map(({ from, fields, shown }) => ({ from, fields, kept: pick(shown) }))
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
      return Query.in(
        scope,
        collection,
        conditions,
        shaping,
        joins.map(({ from, fields, kept }) => ({
          fields,
          find: (ids) => Query.in(scope, from, [{ _id: { $in: ids } }], [kept]),
        })),
      )
    },
  }
}

/** The field with the id of a record that stands beside it. */
const idBeside = (field: string): string => field.slice(0, -BESIDE.length)
