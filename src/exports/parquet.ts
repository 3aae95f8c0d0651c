// What the columns of a Parquet file are, as plain descriptions.
import type { TSchema } from '@sinclair/typebox'
import { annotationOf, storedBranches } from '../../schemas/kit.js'
import type { Column } from '../core/write/columns.js'

export type Shape =
  | { readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'time' | 'json' }
  /** A single stored value is a list of one. */
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }

/** A column, or a field of an object. Its value may be missing. */
export interface Field {
  readonly name: string
  readonly shape: Shape
}

/** What columns are. `named` are the schemas that a `$ref` may name. */
export const shapesOf = (columns: readonly Column[], named: ReadonlyMap<string, TSchema>): Field[] =>
  columns.map(({ name, schema }) => ({ name, shape: shapeOf(schema, named) }))

const shapeOf = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Shape => {
  if (schema.$ref !== undefined) return shapeOf(named.get(schema.$ref) as TSchema, named)
  if (schema.anyOf !== undefined) return unionOf(storedBranches(schema).map((branch) => shapeOf(branch, named)))
  if (annotationOf(schema).listed) return { kind: 'list', item: { kind: 'text' } }
  if (annotationOf(schema).whole) return { kind: 'integer' }
  switch (schema.type) {
    case 'object': {
      const fields = Object.entries<TSchema>(schema.properties).map(([name, schema]) => ({ name, schema }))
      return { kind: 'object', fields: shapesOf(fields, named) }
    }
    case 'array':
      return { kind: 'list', item: shapeOf(schema.items, named) }
    case 'string':
      return { kind: schema.format === 'date-time' ? 'time' : 'text' }
    case 'number':
    case 'integer':
    case 'boolean':
      return { kind: schema.type }
    case undefined:
      return { kind: 'json' }
    default:
      throw new Error(`A Parquet file has no column for the schema type ${schema.type}`)
  }
}

/** A column has one type. So a union is of equal shapes, or of a shape and lists of it: then it is a list. */
const unionOf = (shapes: readonly Shape[]): Shape => {
  const items = shapes.map((shape) => (shape.kind === 'list' ? shape.item : shape))
  const kinds = new Set(items.map((item) => JSON.stringify(item)))
  if (kinds.size > 1) throw new Error(`A Parquet file has no column for a union of ${[...kinds].join(' and ')}`)
  return shapes.find(({ kind }) => kind === 'list') ?? (items[0] as Shape)
}
