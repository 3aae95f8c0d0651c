// What the columns of a Parquet file are: from the schema of a row to a plain description, which can be sent to a thread.
import type { TSchema } from '@sinclair/typebox'
import { annotationOf, isJoined } from '../../schemas/kit.js'

/** What a value is. An object of a row itself has no column: its fields have, such as `location.state`. */
export type Shape =
  | { readonly kind: 'text' | 'number' | 'boolean' | 'time' | 'json' }
  /** A single stored value is a list of one. */
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }

/** A field of an object. Every field may be missing. */
export interface Field {
  readonly name: string
  readonly shape: Shape
}

/** The fields of a schema, as the serializer reads them. `named` are the schemas that a `$ref` may name. */
export const fieldsOf = ({ properties }: TSchema, named: ReadonlyMap<string, TSchema>): Field[] =>
  Object.entries<TSchema>(properties).map(([name, property]) => ({
    name,
    shape: shapeOf(property, named),
  }))

const shapeOf = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Shape => {
  if (schema.$ref !== undefined) return shapeOf(named.get(schema.$ref) as TSchema, named)
  if (schema.anyOf !== undefined) {
    // As in the serializer: what a join fills in place of an id is only in responses whose schema has no union there.
    const stored: TSchema[] = schema.anyOf.filter((branch: TSchema) => !isJoined(branch))
    return unionOf(stored.map((branch) => shapeOf(branch, named)))
  }
  if (annotationOf(schema).listed) return { kind: 'list', item: { kind: 'text' } }
  switch (schema.type) {
    case 'object':
      return { kind: 'object', fields: fieldsOf(schema, named) }
    case 'array':
      return { kind: 'list', item: shapeOf(schema.items, named) }
    case 'string':
      return { kind: schema.format === 'date-time' ? 'time' : 'text' }
    case 'number':
    case 'integer':
      return { kind: 'number' }
    case 'boolean':
      return { kind: 'boolean' }
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
