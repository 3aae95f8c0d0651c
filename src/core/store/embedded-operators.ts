// The operators of mingo, and those of the embedded store in place of them where mingo differs from MongoDB. Values are compared
// as MongoDB sorts them: first by type, and strings by their UTF-8 bytes (its manual, "Comparison/Sort Order").
import { Context, evalExpr } from 'mingo/core'
import type { Iterator as LazyList } from 'mingo/lazy'
import { $max, $min, $push, $sum } from 'mingo/operators/accumulator'
import * as expressions from 'mingo/operators/expression'
import { $group, $limit, $project, $sort } from 'mingo/operators/pipeline'
import * as conditions from 'mingo/operators/query'
import type { Options } from 'mingo/types'
import { resolve } from 'mingo/util'
import { Long, ObjectId } from 'mongodb'

const RANKS: Readonly<Record<string, number>> = { undefined: 0, number: 2, bigint: 2, string: 3, object: 4, boolean: 5 }

/** The rank of a value's type. A missing value ranks as null does, and NaN before all other numbers. */
const rank = (value: unknown): number => {
  if (value === null) return 0
  if (value instanceof Date) return 6
  return Number.isNaN(value) ? 1 : (RANKS[typeof value] as number)
}

/** Negative if `a` sorts before `b`, positive if after, 0 if they are equal. All objects are equal here. */
export const compareValues = (one: unknown, other: unknown): number => {
  const [a, b] = [exact(one), exact(other)]
  const type = rank(a)
  if (type !== rank(b)) return type - rank(b)
  if (type === 3) return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
  if (type < 2 || type === 4) return 0
  return (a as number) < (b as number) ? -1 : Number((a as number) > (b as number))
}

/** Whether two values have the same type. Conditions such as `$gt` match only values of the same type. */
export const isSameType = (a: unknown, b: unknown): boolean => rank(exact(a)) === rank(exact(b))

/** An integer that no number holds exactly is a Long when it is read from BSON. JavaScript compares a bigint with numbers. */
const exact = (value: unknown): unknown => (Long.isLong(value) ? value.toBigInt() : value)

export type Document = Record<string, unknown>

/** The value at a dotted path. It does not look into arrays on the way. */
export const at = (document: Document, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Document | undefined)?.[name], document)

/** A condition on the order of values. Unlike mingo's, it compares strings by their UTF-8 bytes. */
const ordered =
  (holds: (order: number) => boolean) =>
  (path: string, value: unknown) =>
  (document: Document): boolean =>
    [resolve(document, path, { unwrapArray: true })]
      .flat()
      .some((found) => isSameType(found, value) && holds(compareValues(found, value)))

const compared =
  (holds: (order: number) => boolean) =>
  (document: Document, operands: unknown, options: Options): boolean => {
    const [a, b] = evalExpr(document, operands, options) as readonly unknown[]
    return holds(compareValues(a, b))
  }

/** Sets the value at a path; undefined removes the field. Replaces non-objects on the way by objects. */
const put = (document: Document, [name, ...rest]: readonly [string, ...string[]], value: unknown): void => {
  const [next, ...others] = rest
  if (next !== undefined) {
    const inner = document[name] as object | null | undefined
    const object = inner?.constructor === Object ? (inner as Document) : {}
    document[name] = object
    put(object, [next, ...others], value)
  } else if (value === undefined) delete document[name]
  else document[name] = value
}

export const context = Context.init({
  accumulator: { $max, $min, $push, $sum },
  pipeline: {
    $group,
    $limit,
    $project,
    $sort,
    // Unlike mingo's, it replaces a string or number on a path by an object.
    $set: (documents: LazyList, fields: Document, options: Options) =>
      documents.map((document: Document) => {
        const values = Object.values(fields).map((expression) => evalExpr(document, expression, options))
        for (const [i, path] of Object.keys(fields).entries()) put(document, path.split('.') as [string], values[i])
        return document
      }),
  },
  expression: {
    ...expressions,
    // Unlike mingo's, they compare any two values: an array is not equal to its item, and NaN is the least number.
    $eq: compared((order) => order === 0),
    $gte: compared((order) => order >= 0),
    $lt: compared((order) => order < 0),
    $lte: compared((order) => order <= 0),
    // Unlike mingo's, it compares strings by their UTF-8 bytes. It sorts by one field, ascending, as pipelines need it.
    $sortArray: (document: Document, { input, sortBy }: { input: unknown; sortBy: object }, options: Options) => {
      const [field] = Object.keys(sortBy) as [string]
      const items = evalExpr(document, input, options) as readonly Document[]
      return items.toSorted((a, b) => compareValues(at(a, field), at(b, field)))
    },
  },
  query: {
    ...conditions,
    // Unlike mingo's, it compares integers of 64 bits.
    $eq: (path: string, value: unknown, options: Options) =>
      typeof value === 'number' || Long.isLong(value)
        ? ordered((order) => order === 0)(path, value)
        : conditions.$eq(path, value, options),
    $gt: ordered((order) => order > 0),
    $gte: ordered((order) => order >= 0),
    $lt: ordered((order) => order < 0),
    $lte: ordered((order) => order <= 0),
    // Unlike mingo's, it knows ObjectIds, and looks at the items of an array too.
    $type: (path: string, types: unknown, options: Options) => {
      const isOfType = conditions.$type('value', types, options)
      const hasObjectId = [types].flat().includes('objectId')
      return (document: Document) => {
        const found = resolve(document, path)
        const values = Array.isArray(found) ? [found, ...found] : [found]
        return values.some((value) => isOfType({ value }) || (hasObjectId && value instanceof ObjectId))
      }
    },
  },
  // The cast is necessary because mingo's type requires each operator to be of all operator types at once.
} as unknown as Parameters<typeof Context.init>[0])
