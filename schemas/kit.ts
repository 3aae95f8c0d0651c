// The schema helpers. Each keeps the TypeScript type, the validation and the OpenAPI document of a schema in step.
import {
  type ArrayOptions,
  type ObjectOptions,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'

/** An object that allows no other properties. Every query uses it, so that a misspelt filter is an error. */
export const strict = <P extends TProperties>(properties: P, options: ObjectOptions = {}): TObject<P> =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** A property with a default: the caller may leave it out, and the handler always has a value. */
export const defaulted = <T extends TSchema>(schema: T, value: Static<T>) =>
  Type.Unsafe<Static<T>>(Type.Optional({ ...schema, default: value }))

/** An optional query parameter. It has no example, because Swagger UI would send the example with every request. */
export const filter = <T extends TSchema>({ examples, ...schema }: T) => Type.Optional(Type.Unsafe<Static<T>>(schema))

/** A query parameter that takes several values, separated by commas. */
export const several = <T extends TSchema>({ examples, ...item }: T, options: ArrayOptions) =>
  Type.Optional(Type.Unsafe<Static<T>[]>({ type: 'array', items: item, ...options }))

/** An object schema with only some of its properties, in its order. */
export const select = ({ properties }: TObject, names: readonly string[]): TObject =>
  Type.Object(Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name))))

/** A `$ref` to a schema that has an `$id`. Its TypeScript type is that of the schema. */
export const refTo = <T extends TSchema>(schema: T, description?: string) =>
  Type.Unsafe<Static<T>>(Type.Ref(schema.$id as string, description === undefined ? {} : { description }))

/** Marks a schema as joined. It is a symbol, so it appears neither in JSON Schema nor in OpenAPI. */
const isJoined = Symbol('joined')

/**
 * A property that another collection's documents fill: the pipeline joins them and reads only the fields of the schema.
 * A property without this mark belongs to the document itself.
 */
export const joined = <T extends TSchema>(schema: T): T => ({ ...schema, [isJoined]: true })

/** The schema of the documents that a joined property holds, or undefined if the property is not joined. */
export const joinedDocument = (schema: TSchema, named: ReadonlyMap<string, TSchema>): TObject | undefined => {
  if (!(isJoined in schema)) return undefined
  const document: TSchema = schema.type === 'array' ? schema.items : schema
  return (document.$ref === undefined ? document : named.get(document.$ref)) as TObject
}

/** The parameters that a parameter must not stand beside. It is a symbol for the same reason. */
const excluded = Symbol('excluded')

/** A parameter that must not stand beside others. Give their names. */
export const excluding = <T extends TSchema>(names: readonly string[], schema: T): T => ({
  ...schema,
  [excluded]: names,
})

/** The names of the parameters that a parameter must not stand beside. */
export const excludedBy = (schema: TSchema): readonly string[] =>
  excluded in schema ? (schema[excluded] as readonly string[]) : []

/** How the example of a link depends on the path of the list. It is a symbol for the same reason. */
const exampleAt = Symbol('example at a path')

/**
 * An absolute URL that leads back into a list.
 * @param example the URL in the list at a path
 */
export const link = (description: string, example: (path: string) => string) => ({
  ...Type.String({ format: 'uri', description, examples: [example('/v1/entries')] }),
  [exampleAt]: example,
})

/** One of the given strings, as a JSON Schema `enum`. */
export const literals = <const V extends readonly string[]>(values: V, options: { description: string }) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values, examples: [values[0]], ...options })

/**
 * The example of a schema: its own `examples[0]`, or else one built from the examples of its parts.
 * @param named the schemas that a `$ref` may name
 * @param path the path of the list that links lead to
 */
export function exampleOf(schema: TSchema, named: ReadonlyMap<string, TSchema>, path: string): unknown {
  if (schema.$ref !== undefined) return exampleOf(named.get(schema.$ref) as TSchema, named, path)
  if (exampleAt in schema) return (schema[exampleAt] as (path: string) => string)(path)
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0], named, path)
  if (schema.type === 'array') return [exampleOf(schema.items, named, path)]
  return Object.fromEntries(
    Object.entries(schema.properties as TProperties).map(([name, property]) => [
      name,
      exampleOf(property, named, path),
    ]),
  )
}
