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
  Type.Optional(Type.Unsafe<Static<T>[]>({ type: 'array', items: item, minItems: 1, ...options }))

/** A boolean that always has this value. openapi-generator takes the value for a text unless `allOf` has the type too. */
export const constant = (value: boolean, description: string) =>
  Type.Boolean({ const: value, allOf: [{ type: 'boolean' }], description, examples: [value] })

/** An object schema with only some of its properties, in its order. */
export const select = ({ properties }: TObject, names: readonly string[]): TObject =>
  Type.Object(Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name))))

/** A `$ref` to a schema that has an `$id`. Its TypeScript type is that of the schema. */
export const refTo = <T extends TSchema>(schema: T, description?: string) =>
  Type.Unsafe<Static<T>>(Type.Ref(schema.$id as string, description === undefined ? {} : { description }))

/** What a key may be issued without. */
export const hideable = ['personal', 'places'] as const
export type Hidden = (typeof hideable)[number]

/** What a schema says besides JSON Schema. */
interface Annotation {
  /** Another collection's documents fill the property: the pipeline joins them and reads only the fields of the schema. */
  readonly joined?: true
  /** It is shown as an array of strings: a single stored value becomes an array of one. */
  readonly listed?: true
  /** A number that counts something. The contract allows any number, but a file has whole ones. */
  readonly whole?: true
  /** What a text with a pattern must be, in words. */
  readonly words?: string
  /** A number that is too large stands for the maximum. */
  readonly capped?: true
  /** The names of the parameters that the parameter must not stand beside. */
  readonly excludes?: readonly string[]
  /** A key that was issued without this does not see the property, and may not use the parameter. */
  readonly hidden?: Hidden
  /** The properties of a record that the values of the parameter choose among. */
  readonly choices?: TProperties
}

/** A symbol, so that it appears neither in JSON Schema nor in OpenAPI. */
const annotation = Symbol('annotation')

export const annotationOf = (schema: TSchema): Annotation => schema[annotation as never] ?? {}

const annotated = <T extends TSchema>(schema: T, more: Annotation): T => ({
  ...schema,
  [annotation]: { ...annotationOf(schema), ...more },
})

/** A number that counts something. */
export const whole = <T extends TSchema>(schema: T): T => annotated(schema, { whole: true })

/** A property that another collection's documents fill. One without this mark belongs to the document itself. */
export const joined = <T extends TSchema>(schema: T): T => annotated(schema, { joined: true })

/**
 * An id, or the record with this id: parameters choose which.
 * @param record in the response that embeds it
 * @param when the parameter that chooses, in words
 */
export const idOr = <T extends TObject>(record: T, description: string, example: string, when: string) =>
  Type.Optional(
    Type.Union([Type.String({ description: `${description}.`, examples: [example] }), joined(refTo(record))], {
      description: `${description}. ${when}`,
      examples: [example],
    }),
  )

/** Whether another collection's documents fill a property, or this branch of a union. */
export const isJoined = (schema: TSchema): boolean => annotationOf(schema).joined === true

/**
 * The branches of a union that a stored value may have. A record in place of its id is only in responses that embed it, whose
 * schema has no union there.
 */
export const storedBranches = ({ anyOf = [] }: TSchema): TSchema[] =>
  anyOf.filter((branch: TSchema) => !isJoined(branch))

/** An array of strings. A single stored value becomes an array of one, and a number its text. */
export const listed = (options: ArrayOptions) => annotated(Type.Array(Type.String(), options), { listed: true })

/** A text with a pattern. Give what it must be, as an error says it. */
export const inWords = <T extends TSchema>(words: string, schema: T): T => annotated(schema, { words })

/** A number for which a larger one than its maximum stands, too. */
export const capped = <T extends TSchema>(schema: T): T => annotated(schema, { capped: true })

/** A parameter that must not stand beside others. Give their names. */
export const excluding = <T extends TSchema>(excludes: readonly string[], schema: T): T =>
  annotated(schema, { excludes })

/** A parameter whose values name properties of a record. */
export const choosing = <T extends TSchema>({ properties }: TObject, schema: T): T =>
  annotated(schema, { choices: properties })

const spelled: Readonly<Record<Hidden, string>> = { personal: 'personal data', places: 'places' }

/** A property of a record, or a parameter by which it could be guessed, that a key may be issued without. */
const hiddenAs =
  (hidden: Hidden) =>
  <T extends TSchema>(schema: T): T =>
    annotated(
      { ...schema, description: `${schema.description} Not visible to a key without ${spelled[hidden]}.` },
      { hidden },
    )

/** Who somebody is, and how to reach them. */
export const personal = hiddenAs('personal')

/** Where something is. */
export const place = hiddenAs('places')

/** Whether a key was issued without a property or a parameter. */
export const isHidden = (schema: TSchema, without: readonly Hidden[]): boolean => {
  const { hidden } = annotationOf(schema)
  return hidden !== undefined && without.includes(hidden)
}

/** The schema of the documents that a joined property holds, or undefined if the property is not joined. */
export const joinedDocument = (schema: TSchema, named: ReadonlyMap<string, TSchema>): TObject | undefined => {
  if (!isJoined(schema)) return undefined
  const document: TSchema = schema.type === 'array' ? schema.items : schema
  return (document.$ref === undefined ? document : named.get(document.$ref)) as TObject
}

/** What follows the name of a field with an id, in the name of a field that has the record beside it. */
export const JOINED_SUFFIX = ':joined'

/** The property of a record as it is stored: an id in place of another record. What no record stores has none. */
const flatProperty = (property: TSchema): TSchema | undefined => {
  if (isJoined(property)) return undefined
  return property.anyOf?.some(isJoined) ? property.anyOf[0] : property
}

/**
 * The properties of a record as it is stored: ids in place of other records, and nothing that is found by a join. In a
 * union of an id and a record, the id stands first.
 */
export const flat = ({ properties, required = [] }: TObject): TProperties =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) => {
      const stored = flatProperty(property)
      if (stored === undefined) return []
      return [[name, required.includes(name) ? stored : Type.Optional(stored)]]
    }),
  )

/**
 * A schema with a title is a component of that name in the OpenAPI document, so that generated clients call it so. Objects
 * and enums have one, unless an `$id` names them already.
 */
interface Named {
  title?: string
  description: string
}

/** One of the given strings and no other, as a JSON Schema `enum`: for what a caller sends. */
export const literals = <const V extends readonly string[]>(values: V, options: Named) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values, examples: [values[0]], ...options })

/**
 * A word of a response. It is no enum, because a stored record may have another word and a later release may add one:
 * a generated client must read these too.
 * @param known the words that are known today
 */
export const word = (known: readonly string[], { title, description }: Required<Named>) =>
  Type.String({
    title,
    description: `${description} Known words: ${known.map((each) => `\`${each}\``).join(', ')}. Expect others.`,
    examples: [...known],
  })
