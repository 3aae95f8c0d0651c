// What a resource is. Each is declared once, and index.ts lists them all. Paths, the OpenAPI document, the change feed and the
// tests go through that list.
import type { TObject, TProperties } from '@sinclair/typebox'
import type { CommonFilters, exampleIds, Listing, PageLimits } from '../../../schemas/common.js'
import type { RecordCollection } from '../documents/collections.js'
import type { ReferencesTo } from './joins.js'
import type { Condition, Scope, Stage } from './stages.js'

/** A function for each filter of a list, which turns its value into a condition. A missing filter is a type error. */
type FiltersFor<Q> = { readonly [F in Exclude<keyof Q, keyof Listing>]-?: (value: NonNullable<Q[F]>) => Condition }

/** Filters by equality: each has the name of the stored field that must have its value. */
export const equal = <const N extends string>(...names: N[]) =>
  Object.fromEntries(names.map((name) => [name, (value: unknown) => ({ [name]: value })])) as {
    [F in N]: (value: unknown) => Condition
  }

/** How stored documents become documents of a response, whatever selects them. */
export interface Shape {
  /** What the response shows of a document. No other fields leave the database. */
  readonly schema: TObject
  /** The stages that make a field of something else than its stored value, by the name of the field. */
  readonly stages?: Readonly<Record<string, (scope: Scope, field: string) => readonly Stage[]>>
  /** Fields that hold ids. Documents take their place. */
  readonly references?: readonly ReferencesTo[]
  /** Fields that hold ids, which `expand` replaces by documents. */
  readonly expandable?: readonly ReferencesTo[]
  /** By the name of a field that holds an id: with `names=true`, what is shown of the record stands beside the id. */
  readonly joined?: Readonly<Record<string, Omit<ReferencesTo, 'fields'>>>
}

interface Declaration {
  readonly collection: RecordCollection
  /** One of its records, as texts call it, and the article of that name. */
  readonly name: keyof typeof exampleIds
  readonly article: 'a' | 'an'
  readonly tag: { readonly name: string; readonly description: string }
  /** What its list and its by-id are for, and what to look out for. */
  readonly descriptions: { readonly list: string; readonly get: string }
  readonly query: (limits: PageLimits) => TObject
  /** Its own parameters, which its by-id and its feed have too. */
  readonly parameters?: TProperties
  /** What its list shows of a record. Its feed shows the same without what is embedded. */
  readonly item: Shape
  readonly record: Shape
}

export interface Resource extends Declaration {
  readonly operationIds: Readonly<Record<'list' | 'get' | 'sync' | 'digest' | 'export', string>>
  /** The conditions of the filters among some checked parameters, by the names of the filters. */
  readonly conditions: (parameters: object) => Readonly<Record<string, Condition>>
}

/** Makes a resource of its declaration and of the conditions of its own filters. Every list has the common filters too. */
export const defineResource = <Q extends Listing>({
  filters,
  ...declaration
}: Declaration & { readonly filters: FiltersFor<Omit<Q, keyof CommonFilters>> }): Resource => {
  const all = Object.entries<(value: never) => Condition>({ ...filters, ...commonFilterConditions })
  const { name, tag } = declaration
  return {
    ...declaration,
    operationIds: {
      list: `list${tag.name}`,
      get: `get${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      sync: `sync${tag.name}`,
      digest: `digest${tag.name}`,
      export: `export${tag.name}`,
    },
    conditions: (parameters) => {
      const found: Record<string, Condition> = {}
      for (const [name, condition] of all) {
        const value = (parameters as Record<string, unknown>)[name]
        if (value !== undefined) found[name] = condition(value as never)
      }
      return found
    },
  }
}

const commonFilterConditions: FiltersFor<CommonFilters> = {
  ids: (ids) => ({ _id: { $in: ids } }),
  idFrom: (id) => ({ _id: { $gte: id } }),
  idTo: (id) => ({ _id: { $lt: id } }),
  updatedSince: (time) => ({ updatedAt: { $gte: time } }),
  updatedBefore: (time) => ({ updatedAt: { $lt: time } }),
  createdSince: (time) => ({ createdAt: { $gte: time } }),
  createdBefore: (time) => ({ createdAt: { $lt: time } }),
}
