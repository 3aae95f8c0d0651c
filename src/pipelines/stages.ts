// The stages that pipelines are made of, and the only makers of a Query. The organisation of the caller is put in here,
// after the filters: a filter can narrow what a query reads, never widen it.
import type { TObject, TSchema } from '@sinclair/typebox'
import { namedSchemas } from '../../schemas/index.js'
import type { CollectionName } from '../documents/collections.js'

/** Whose data a request may read. It comes from the API key and from nowhere else. */
export interface Scope {
  readonly organisation: string
}

/**
 * An expression of an aggregation. A string in it is a field or a variable, and the compiler has to see that it begins with
 * `$`. What comes from outside may begin so as well, but the compiler cannot know: it goes below `$literal`.
 */
export type Expression =
  | `$${string}`
  | number
  | readonly Expression[]
  | { readonly $literal: unknown }
  | { readonly [name: string]: Expression }

/** A condition of a `$match` stage, where a string stands for itself, whatever it begins with; not so below `$expr`. */
export type Condition = Readonly<Record<string, unknown>> & { readonly $expr?: never }

/** Paths of the fields that are kept. */
type Paths = Readonly<Record<string, 1>>

/** A join by equality. Its pipeline, where it has one, says which documents of the collection count and what is kept of them. */
export interface Lookup {
  readonly from: CollectionName
  readonly localField: string
  readonly foreignField: string
  readonly pipeline?: readonly [{ readonly $match: Condition }, { readonly $project: Paths }]
  readonly as: string
}

/** One stage of a MongoDB aggregation pipeline, of those that the service needs. */
export type Stage = {
  readonly $set?: Readonly<Record<string, Expression>>
  readonly $lookup?: Lookup
  readonly $project?: Paths
  readonly $sort?: Readonly<Record<string, 1 | -1>>
  readonly $skip?: number
  readonly $limit?: number
}

/** Fields that hold ids of documents which a store fetches, each once, and puts in the place of their ids. */
export interface References {
  /** Paths, with dots; a field may hold one id or an array of them. */
  readonly fields: readonly string[]
  /** The query that finds the documents of these ids. */
  readonly find: (ids: readonly unknown[]) => Query
}

const writingStages = ['$out', '$merge']

/** A read that a store takes: only documents that fulfil `match` go through `stages`. None is without a scope, none writes. */
export class Query {
  /** Makes an object of the same form no Query: the only way to one is in(). */
  declare protected readonly scoped: true

  private constructor(
    readonly collection: CollectionName,
    readonly match: Condition,
    readonly stages: readonly Stage[],
    readonly references: References | undefined,
  ) {}

  /** A query over the documents of the scope's organisation that fulfil every condition. */
  static in(
    { organisation }: Scope,
    collection: CollectionName,
    conditions: readonly Condition[],
    stages: readonly Stage[],
    references?: References,
  ): Query {
    for (const stage of stages) {
      for (const name of writingStages) if (name in stage) throw new Error(`A query reads: it has no ${name}`)
    }
    return new Query(collection, { $and: [...conditions, { organisation }] }, stages, references)
  }
}

/** What turns each filter that a list declares into a condition. A declared filter that is missing does not compile. */
export type FiltersFor<Q> = {
  readonly [F in Exclude<keyof Q, keyof Listing>]-?: (value: NonNullable<Q[F]>) => Condition
}

/** The parameters that every list has. */
export interface Listing {
  readonly sortBy: string
  readonly sortOrder: 'asc' | 'desc'
  readonly page: number
  readonly perPage: number
}

/** The conditions of those filters that the request names. */
export const conditions = <Q extends Listing>(filters: FiltersFor<Q>, listing: Q): Condition[] =>
  Object.entries<(value: never) => Condition>(filters).flatMap(([name, condition]) => {
    const value = listing[name as keyof Q]
    return value === undefined ? [] : [condition(value as never)]
  })

/** Sorts by the field, then by the id in the same direction, so that the order is total; then takes the page. */
export const sortedPage = ({ sortBy, sortOrder, page, perPage }: Listing): Stage[] => {
  const direction = sortOrder === 'asc' ? 1 : -1
  return [
    { $sort: sortBy === 'id' ? { _id: direction } : { [sortBy]: direction, _id: direction } },
    { $skip: (page - 1) * perPage },
    { $limit: perPage },
  ]
}

/**
 * Keeps the stored fields that a response schema names, and of the documents that are joined the same. What a document
 * holds of its own is kept whole: the serializer takes what it needs, and sees what does not fit. It is made once, not for
 * each query.
 * @param references fields that hold ids still, which are kept
 */
export const pick = (schema: TObject, references: readonly string[] = []): Stage => ({
  $project: Object.fromEntries(paths(schema, '', references)),
})

const paths = (schema: TObject, prefix: string, references: readonly string[] = []): [string, 1][] =>
  Object.entries(schema.properties).flatMap(([name, property]): [string, 1][] => {
    const path = prefix + (name === 'id' ? '_id' : name)
    const joined = references.includes(name) ? undefined : documentOf(property)
    return joined === undefined ? [[path, 1]] : paths(joined, `${path}.`)
  })

/** The document that a property holds, be it itself, named by reference, or an item of an array: an object with an id. */
const documentOf = (schema: TSchema): TObject | undefined => {
  if (schema.$ref !== undefined) return documentOf(namedSchemas.get(schema.$ref) as TSchema)
  if (schema.type === 'array') return documentOf(schema.items)
  return schema.properties?.id === undefined ? undefined : (schema as TObject)
}
