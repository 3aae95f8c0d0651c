// The only schema helpers. They keep the TypeScript type, the validation and the OpenAPI document of a schema in step.
import { type ObjectOptions, type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'

/** An object that takes no property but its own: the form of every query, so that a misspelt filter is an error. */
export const strict = <P extends TProperties>(properties: P, options: ObjectOptions = {}): TObject<P> =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** A property that the caller may leave out and the handler always has: optional in OpenAPI, present in the type. */
export const defaulted = <T extends TSchema>(schema: T, value: Static<T>) =>
  Type.Unsafe<Static<T>>(Type.Optional({ ...schema, default: value }))

/** A property that the caller may leave out. It has no example: Swagger UI would send it with every try. */
export const filter = <T extends TSchema>({ examples, ...schema }: T) => Type.Optional(Type.Unsafe<Static<T>>(schema))

/** A `$ref` to a schema that has an `$id`, with the type of that schema. */
export const refTo = <T extends TSchema>(schema: T, description?: string) =>
  Type.Unsafe<Static<T>>(Type.Ref(schema.$id as string, description === undefined ? {} : { description }))

/** One of the given strings, as a JSON Schema `enum`. */
export const literals = <const V extends readonly string[]>(values: V, options: { description: string }) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values, examples: [values[0]], ...options })

/**
 * The example of a schema: its own `examples[0]`, or one put together from the examples of its parts.
 * @param named looks up the schemas that a `$ref` names
 */
export function exampleOf(schema: TSchema, named: ReadonlyMap<string, TSchema>): unknown {
  if (schema.$ref !== undefined) return exampleOf(named.get(schema.$ref) as TSchema, named)
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.type === 'array') return [exampleOf(schema.items, named)]
  return Object.fromEntries(
    Object.entries(schema.properties as TProperties).map(([name, property]) => [name, exampleOf(property, named)]),
  )
}
