// The building blocks of pipelines, and the class Query. A query always has the caller's organisation as its last
// condition, so a filter can only narrow what it reads.
import type { TObject, TSchema } from '@sinclair/typebox'
import { namedSchemas } from '../../../schemas/index.js'
import { joinedDocument } from '../../../schemas/kit.js'
import type { Without } from '../../../schemas/views.js'
import {
  type CollectionName,
  DELETED_FROM,
  former,
  narrowedBy,
  type Only,
  type RecordCollection,
  restrictions,
} from '../documents/collections.js'
import { problem } from '../problems/problems.js'

/** The organisation whose data a request may read, and what it sees of them. All come from the API key. */
export interface Scope {
  readonly organisation: string
  /** Undefined if it sees everything. */
  readonly without?: Without
  /** Undefined if it sees all projects and forms. */
  readonly only?: Only | undefined
}

/**
 * An aggregation expression. MongoDB reads a string that begins with `$` as a field or a variable, so the type allows only string
 * literals that do. A value from outside the program must be wrapped in `$literal`, or it could name a field.
 */
export type Expression =
  | `$${string}`
  | number
  | readonly Expression[]
  | { readonly $literal: unknown }
  | { readonly [name: string]: Expression }

/** The scope of records that are embedded in a visible record, or named beside its ids. They are part of it. */
export const embeddedIn = ({ organisation }: Scope): Scope => ({ organisation })

/** A scope that is narrowed further, to what both allow. */
export const narrowed = (scope: Scope, more: Only): Scope => {
  const both = restrictions.flatMap((kind) => {
    const [outer, inner] = [scope.only?.[kind], more[kind] && [...new Set(more[kind])].sort()]
    const ids = outer && inner ? inner.filter((id) => outer.includes(id)) : (outer ?? inner)
    return ids === undefined ? [] : [[kind, ids]]
  })
  return both.length === 0 ? scope : { ...scope, only: Object.fromEntries(both) }
}

/** A condition of a `$match` stage. Its strings are plain values, except in `$expr`, which is therefore not allowed. */
export type Condition = Readonly<Record<string, unknown>> & { readonly $expr?: never }

export type Paths = Readonly<Record<string, 1>>

/** A join by equality. The optional pipeline filters the joined documents and selects their fields. */
export interface Lookup {
  readonly from: CollectionName
  readonly localField: string
  readonly foreignField: string
  readonly pipeline?: readonly [{ readonly $match: Condition }, { readonly $project: Paths }]
  readonly as: string
}

/** One stage of an aggregation pipeline. Only the stages that the service needs are allowed. */
export type Stage = {
  readonly $set?: Readonly<Record<string, Expression>>
  readonly $lookup?: Lookup
  readonly $match?: Condition
  readonly $project?: Paths
  readonly $sort?: Readonly<Record<string, 1 | -1>>
  readonly $skip?: number
  readonly $limit?: number
  /** Makes one document of all that have the same `_id`. With null, it is one of all. */
  readonly $group?: { readonly _id: Expression | null; readonly [field: string]: Expression | null }
}

/** Fields that hold ids. The store fetches the documents with these ids, each once, and replaces the ids by them. */
export interface References {
  /** Dotted paths. Each field may hold one id or an array of ids. */
  readonly fields: readonly string[]
  readonly find: (ids: readonly unknown[]) => Query
}

/**
 * A condition on an owner also finds an array that contains it. A document with such an array belongs to nobody. Only the
 * document can tell, so counts and digests, which read nothing but an index, include it if the owner is an organisation.
 */
const notInArray = (owner: string): Condition => ({ [owner]: { $not: { $type: 'array' } } })

/** The restrictions of a scope on a collection. @throws the problem `not_in_scope` if it has no field for one */
export const restrictionsOn = (collection: CollectionName, { only = {} }: Scope) =>
  restrictions.flatMap((kind) => {
    const ids = only[kind]
    if (ids === undefined) return []
    const field = narrowedBy[collection]?.[kind]
    if (field === undefined)
      throw problem('not_in_scope', `The key sees some ${kind}s alone, and ${collection} do not belong to a ${kind}`)
    return [{ kind, field, value: ids.length === 1 ? ids[0] : { $in: ids } }]
  })

export const isInScope = (collection: CollectionName, { only }: Scope): boolean =>
  restrictions.every((kind) => only?.[kind] === undefined || narrowedBy[collection]?.[kind] !== undefined)

/** What records meet that are of one of the ids of a restriction. */
const isOne = ({ field, value }: ReturnType<typeof restrictionsOn>[number]): Condition[] =>
  field === '_id' ? [{ [field]: value }] : [{ [field]: value }, notInArray(field)]

/** What records meet that are in a scope, besides that they belong to its organisation. */
export const isWithin = (scope: Scope, collection: CollectionName): Condition[] =>
  restrictionsOn(collection, scope).flatMap(isOne)

/** What records or tombstones meet that are in a scope or have been. A tombstone from before this was kept may have been. */
export const hasBeenWithin = (scope: Scope, collection: CollectionName): Condition[] =>
  restrictionsOn(collection, scope).map((restriction) => {
    const { kind, field, value } = restriction
    if (field === '_id') return { [field]: value }
    const isUnknown = { [DELETED_FROM]: { $exists: true }, [former[kind]]: null }
    return { $or: [{ $and: isOne(restriction) }, { [former[kind]]: value }, isUnknown] }
  })

/** What records meet that have left a scope. Most records fail the first condition. */
export const hasLeft = (scope: Scope, collection: CollectionName): Condition[] => [
  { $or: restrictionsOn(collection, scope).map(({ kind, value }) => ({ [former[kind]]: value })) },
  ...hasBeenWithin(scope, collection),
  { $nor: [{ $and: isWithin(scope, collection) }] },
]

/** A query for a store: the documents that match go through the stages. It always has a scope and never writes. */
export class Query {
  /** Prevents a plain object of the same shape from passing as a Query: only in() and deletedFrom() create one. */
  declare protected readonly scoped: true

  private constructor(
    readonly collection: CollectionName,
    readonly match: Condition,
    /** What a count matches: `match` without what an index cannot tell. */
    readonly counted: Condition,
    readonly stages: readonly Stage[],
    readonly references: readonly References[],
    /** Another query of the same store. Its documents are returned too, in no particular place. */
    readonly union?: Query,
  ) {
    for (const stage of stages) {
      for (const name of ['$out', '$merge']) if (name in stage) throw new Error(`A query must not contain ${name}`)
    }
  }

  static in(
    scope: Scope,
    collection: CollectionName,
    conditions: readonly Condition[],
    stages: readonly Stage[],
    references: readonly References[] = [],
  ): Query {
    const { organisation } = scope
    const all = [...isWithin(scope, collection), ...conditions]
    const counted = { $and: [...all, { organisation }] }
    const match = { $and: [...all, notInArray('organisation'), { organisation }] }
    return new Query(collection, match, counted, stages, references)
  }

  static deletedFrom(
    { organisation }: Scope,
    collection: RecordCollection,
    conditions: readonly Condition[],
    stages: readonly Stage[],
  ): Query {
    const isTombstone = { deletedFrom: organisation, organisation: { $exists: false } }
    const match = { $and: [...conditions, notInArray('deletedFrom'), isTombstone] }
    return new Query(collection, match, match, stages, [])
  }

  /** The same query for what only reads the fields of an index: it also finds records that belong to nobody. */
  covered(): Query {
    return new Query(this.collection, this.counted, this.counted, this.stages, this.references)
  }

  /** A query that returns the documents of this one and of another one. The database runs both as one command. */
  and(union: Query): Query {
    const { collection, match, counted, stages, references } = this
    return new Query(collection, match, counted, stages, references, union)
  }
}

/** By which stored field a list is sorted, and in which direction. Rows with the same value are in the order of their ids. */
export type Order = { readonly field: string; readonly direction: 1 | -1 }

export interface Slice {
  /** A condition that the rows meet besides the filters. */
  readonly range?: Condition | undefined
  readonly skip: number
  readonly limit: number
}

/** Sorts by the field and the id, so that no two documents tie, and takes the slice. */
export const sortedSlice = ({ field, direction }: Order, { skip, limit }: Omit<Slice, 'range'>): Stage[] => [
  { $sort: { [field]: direction, _id: direction } },
  ...(skip > 0 ? [{ $skip: skip }] : []),
  { $limit: limit },
]

/**
 * Keeps the stored fields that a response schema names, and does the same for joined documents. An embedded object that
 * belongs to the document itself is kept whole: the writer selects its fields and reports values that do not fit.
 * Call it once for each pipeline, not for each query.
 * @param references joined fields that still hold ids, which are kept as they are
 * @param named the schemas that a `$ref` may name
 */
export const pick = (
  schema: TObject,
  references: readonly string[] = [],
  named: ReadonlyMap<string, TSchema> = namedSchemas,
): { $project: Paths } => {
  const pathsIn = ({ properties }: TObject, prefix = ''): [string, 1][] =>
    Object.entries(properties).flatMap(([name, property]): [string, 1][] => {
      const path = prefix + (name === 'id' ? '_id' : name)
      const document = references.includes(path) ? undefined : joinedDocument(property, named)
      return document === undefined ? [[path, 1]] : pathsIn(document, `${path}.`)
    })
  return { $project: Object.fromEntries(pathsIn(schema)) }
}
