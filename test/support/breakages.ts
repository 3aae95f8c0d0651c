// Queries that are broken on purpose, to show that a test finds it.
import { type Condition, Query } from '../../src/core/pipelines/stages.js'

/** What is changed in each query of a store that is broken on purpose. */
export type Breakage = (query: Query) => Partial<Record<'match' | 'counted' | 'stages' | 'union', unknown>>

export const broken = (query: Query, breakage: Breakage): Query =>
  Object.assign(Object.create(Query.prototype), query, breakage(query))

/** A value in which objects are replaced. */
export const replaced = (value: unknown, by: (object: Record<string, unknown>) => object): unknown => {
  if (Array.isArray(value)) return value.map((item) => replaced(item, by))
  if (value?.constructor !== Object) return value
  const entries = Object.entries(by(value as Record<string, unknown>))
  return Object.fromEntries(entries.map(([name, inner]) => [name, replaced(inner, by)]))
}

/** A query without the conditions on some fields. */
export const withoutConditions = ({ match, counted }: Query, isDropped: (field: string, value: unknown) => boolean) => {
  const others = (condition: object) => Object.entries(condition).filter(([field, value]) => !isDropped(field, value))
  const keep = ({ $and }: Condition) => ({
    $and: ($and as Condition[]).map((condition) => Object.fromEntries(others(condition))),
  })
  return { match: keep(match), counted: keep(counted) }
}
