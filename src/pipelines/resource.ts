// What a resource is. Each declares itself once, in the file of its name; index.ts lists them all. Paths, the OpenAPI
// document, the change feed and the tests go through that list. The queries are pure functions, without I/O.
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { CommonFilters, PageLimits } from '../../schemas/common.js'
import { flat, isJoined, NAMED } from '../../schemas/kit.js'
import { forEachView, type View, type Without } from '../../schemas/views.js'
import type { RecordCollection } from '../documents/collections.js'
import type { ReferencesTo } from './joins.js'
import {
  type Condition,
  type Listing,
  type Paths,
  pick,
  Query,
  type References,
  type Scope,
  type Slice,
  type Stage,
  sortedPage,
} from './stages.js'

/** A function for each filter of a list, which turns its value into a condition. A missing filter is a type error. */
type FiltersFor<Q> = {
  readonly [F in Exclude<keyof Q, keyof Listing>]-?: (value: NonNullable<Q[F]>) => Condition
}

/** How stored documents become those of a response, whichever of them are read. */
export interface Shape {
  /** What the response shows of a document. No other fields leave the database. */
  readonly schema: TObject
  /** The stages that make a field of something else than its stored value, by the name of the field. */
  readonly stages?: Readonly<Record<string, (scope: Scope, field: string) => readonly Stage[]>>
  /** Fields that hold ids. The store replaces them by documents. */
  readonly references?: readonly ReferencesTo[]
  /** Fields that hold ids, which `expand` replaces by documents. */
  readonly expandable?: readonly ReferencesTo[]
  /** The records whose names stand beside their ids with `names=true`. */
  readonly named?: readonly ReferencesTo[]
}

/** A shape as one request needs it. */
export interface RequestedShape {
  readonly stages: readonly Stage[]
  readonly references: readonly References[]
  /** All fields that the shape has. */
  readonly fields: Paths
}

type ShapeFor = (scope: Scope, choice?: Pick<Listing, 'fields' | 'expand' | 'embed' | 'names'>) => RequestedShape

interface Declaration {
  readonly collection: RecordCollection
  /** One of its records, as texts call it, and the article of that name. */
  readonly name: string
  readonly article: 'a' | 'an'
  /** Its part of the OpenAPI document. */
  readonly tag: { readonly name: string; readonly description: string }
  readonly operationIds: Readonly<Record<'list' | 'get' | 'sync' | 'digest' | 'export', string>>
  /** What its list and its by-id are for, and what to look out for. */
  readonly descriptions: { readonly list: string; readonly get: string }
  /** The parameters of its list. */
  readonly query: (limits: PageLimits) => TObject
  /** Parameters that its by-id and its feed have too, besides those of all. */
  readonly parameters?: TProperties
  /** What its list shows of a record. Its feed shows the same without what is embedded. */
  readonly item: Shape
  /** What its by-id shows of a record. */
  readonly record: Shape
}

export interface Resource<Q extends Listing = never> extends Declaration {
  /** The query of all records that its filters match, through other stages than those of its list. */
  readonly matching: (scope: Scope, listing: Q, stages: readonly Stage[]) => Query
  /** The query of a part of its list; by default, of the page with the number `page`. */
  readonly list: (scope: Scope, listing: Q, slice?: Slice) => Query
  /** The query of a record by its id. */
  readonly get: (scope: Scope, id: string) => Query
  /** The shape of an item for a request; by default with all its fields, and nothing expanded. */
  readonly itemShape: ShapeFor
  /** What its list shows of a record to a key. */
  readonly itemSeen: (without: Without) => Shape
}

/** Makes a resource of its declaration and of the conditions of its filters, besides those that every list has. */
export const defineResource = <Q extends Listing>({
  filters,
  ...declaration
}: Declaration & { readonly filters: FiltersFor<Omit<Q, keyof CommonFilters>> }): Resource<Q> => {
  const { collection } = declaration
  const shapes = forEachView((view) => {
    const item = seenIn(view, declaration.item)
    return {
      item,
      whole: shapeOf(item, view),
      stored: shapeOf(flatShape(item), view),
      record: shapeOf(seenIn(view, declaration.record), view),
    }
  })
  const itemShape: ShapeFor = (scope, choice) => {
    const { stored, whole } = shapes(scope.without)
    return (choice?.embed === 'false' ? stored : whole)(scope, choice)
  }
  const conditions = Object.entries<(value: never) => Condition>({ ...filters, ...commonFilterConditions })
  const matches = (listing: Q): Condition[] =>
    conditions.flatMap(([name, condition]) => {
      const value = listing[name as keyof Q]
      return value === undefined ? [] : [condition(value as never)]
    })
  return {
    ...declaration,
    itemShape,
    itemSeen: (without) => shapes(without).item,
    matching: (scope, listing, stages) => Query.in(scope, collection, matches(listing), stages),
    list(scope, listing, slice) {
      const matching = matches(listing)
      if (slice?.range !== undefined) matching.push(slice.range)
      const { stages, references, fields } = itemShape(scope, listing)
      const shaping = [...sortedPage(listing, slice), ...stages, { $project: shownPaths(fields, listing) }]
      return Query.in(scope, collection, matching, shaping, references)
    },
    get(scope, id) {
      const { stages, references, fields } = shapes(scope.without).record(scope)
      return Query.in(scope, collection, [{ _id: id }], [...stages, { $project: fields }], references)
    },
  }
}

/** The conditions of the filters that every list has. */
const commonFilterConditions: FiltersFor<CommonFilters> = {
  ids: (ids) => ({ _id: { $in: ids } }),
  idFrom: (id) => ({ _id: { $gte: id } }),
  idTo: (id) => ({ _id: { $lt: id } }),
  updatedSince: (time) => ({ updatedAt: { $gte: time } }),
  updatedBefore: (time) => ({ updatedAt: { $lt: time } }),
  createdSince: (time) => ({ createdAt: { $gte: time } }),
  createdBefore: (time) => ({ createdAt: { $lt: time } }),
}

/** The shape as a key sees it. */
const seenIn = (view: View, shape: Shape): Shape => {
  const seen = (references: readonly ReferencesTo[] = []) =>
    references.map((to) => to.seenIn(view)).filter(({ shown }) => Object.keys(shown.properties).length > 0)
  const { schema, references, expandable, named } = shape
  return {
    ...shape,
    schema: view.shown(schema),
    references: seen(references),
    expandable: seen(expandable),
    named: seen(named),
  }
}

/** The shape without what it shows of other records. */
const flatShape = ({ schema, stages = {}, named = [] }: Shape): Shape => ({
  named,
  schema: Type.Object(flat(schema)),
  stages: Object.fromEntries(
    Object.entries(stages).filter(([field]) => !isJoined(schema.properties[field] as TSchema)),
  ),
})

/** Returns a function that gives a shape for a request. It makes nothing for fields that the request does not show. */
const shapeOf = (
  { schema, stages = {}, references = [], expandable = [], named = [] }: Shape,
  view: View,
): ShapeFor => {
  const { $project: paths } = pick(
    schema,
    references.flatMap(({ fields }) => fields),
    view.named(),
  )
  return (scope, choice = {}) => {
    const { fields: shown, expand } = choice
    const expanded = expandable.filter(({ fields }) => fields.some((field) => expand?.includes(field)))
    const beside = namedBy(choice, named)
    return {
      stages: [
        ...Object.entries(stages).flatMap(([field, stagesOf]) =>
          (shown?.includes(field) ?? true) ? stagesOf(scope, field) : [],
        ),
        ...beside.map(({ field, id }) => ({ $set: { [field]: `$${id}` as const } })),
      ],
      references: [...references, ...expanded, ...beside.map(({ to }) => to)].map(({ ofScope }) => ofScope(scope)),
      fields: { ...paths, ...Object.fromEntries(beside.map(({ field }) => [field, 1 as const])) },
    }
  }
}

/** The names that a choice shows beside ids: those of records that are not there as a whole. */
export const namedBy = (
  { fields, expand, names }: Pick<Listing, 'fields' | 'expand' | 'names'>,
  named: readonly ReferencesTo[] = [],
): { field: string; id: string; to: ReferencesTo }[] =>
  named.flatMap((to) => {
    const [field] = to.fields as [string]
    const id = field.slice(0, -NAMED.length)
    const isShown = names === 'true' && (fields?.includes(id) ?? true) && !expand?.includes(id)
    return isShown ? [{ field, id, to }] : []
  })

/** The paths of the fields that a request shows, always with the id and the field that the list is sorted by. */
const shownPaths = (all: Paths, { fields, sortBy }: Listing): Paths => {
  if (fields === undefined) return all
  const names = new Set(['_id', sortBy, ...fields, ...fields.map((field) => `${field}${NAMED}`)])
  return Object.fromEntries(Object.entries(all).filter(([path]) => names.has(path.split('.')[0] as string)))
}
