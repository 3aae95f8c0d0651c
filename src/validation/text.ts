// Validates input that is all text, such as query strings and the environment, against a schema. Each error names the value,
// what is wrong with it and what is allowed.
import { isIP } from 'node:net'
import type { TObject, TSchema } from '@sinclair/typebox'
import { Ajv, type ErrorObject } from 'ajv'
import { excludedBy } from '../../schemas/kit.js'

const isAddressOrRange = (text: string): boolean => {
  const [address, bits, ...rest] = text.split('/') as [string, ...string[]]
  const size = isIP(address) === 6 ? 128 : 32
  const isRange = bits === undefined || (/^[1-9]\d*$/.test(bits) && Number(bits) <= size)
  return isIP(address) !== 0 && isRange && rest.length === 0
}

/** The formats that a schema may name, each with the description that an error gives of it. */
const formats = {
  'mongodb-uri': {
    description:
      'a URI that begins with mongodb:// or mongodb+srv:// and names a database, as in mongodb://host/database',
    validate: (text: string) => /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]{1,63}(\?.*)?$/.test(text),
  },
  'base-url': {
    description: 'an absolute http or https URL without user, query and fragment',
    validate: (text: string) =>
      /^https?:\/\/[^?#@]+$/.test(text) && !/%(?![\da-f]{2})/i.test(text) && URL.canParse(text),
  },
  'address-list': {
    description: 'a list of IP addresses or CIDR ranges, separated by commas',
    validate: (text: string) => text.split(/\s*,\s*/).every(isAddressOrRange),
  },
}

const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, formats })

/** What is wrong with one value of the input. */
export interface InputError {
  name: string
  message: string
  /** What is allowed, if it can be listed. */
  allowed?: string[]
}

type Message = (schema: TSchema) => Omit<InputError, 'name'>

const integer: Message = ({ minimum, maximum }) => ({ message: `must be an integer from ${minimum} to ${maximum}` })

/** The error for each keyword that the schema of a value may use. */
const messages: Readonly<Record<string, Message>> = {
  type: integer,
  minimum: integer,
  maximum: integer,
  enum: ({ enum: allowed }) => ({ message: `must be one of ${allowed.join(', ')}`, allowed }),
  format: ({ format }) => ({ message: `must be ${formats[format as keyof typeof formats].description}` }),
  minLength: ({ minLength }) => ({
    message: minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`,
  }),
}
const annotations = ['description', 'examples', 'default']

/** Throws unless there is a message for whatever can be wrong with a value of this schema. */
const checkSchema = (name: string, schema: TSchema): void => {
  const isInteger = schema.type === 'integer' && schema.minimum !== undefined && schema.maximum !== undefined
  if (!isInteger && schema.type !== 'string') {
    throw new Error(`The schema of ${name} must be a string, or an integer with minimum and maximum`)
  }
  for (const keyword of Object.keys(schema)) {
    if (Object.hasOwn(messages, keyword) || annotations.includes(keyword)) continue
    throw new Error(`The schema of ${name} uses ${keyword}, for which src/validation/text.ts has no message`)
  }
}

export type Checked = { value: unknown } | { errors: readonly InputError[] }

/**
 * Compiles an object schema into a function that checks input. It gives the values, with their types and defaults, or the
 * errors. A schema that uses a keyword without a message is refused here, when the service starts.
 */
export const textChecker = (schema: TObject): ((input: Readonly<Record<string, unknown>>) => Checked) => {
  const properties = Object.entries(schema.properties)
  for (const [name, property] of properties) checkSchema(name, property)
  const validate = ajv.compile(schema)
  const integers = properties.flatMap(([name, { type }]) => (type === 'integer' ? name : []))
  return (input) => {
    const value = { ...input }
    for (const name of integers) if (name in value) value[name] = asInteger(value[name])
    const errors = validate(value) ? [] : firstErrors(validate.errors as ErrorObject[], schema)
    // This is about the input alone, because `validate` has added the defaults.
    for (const [name, property] of properties) {
      if (!Object.hasOwn(input, name)) continue
      const present = excludedBy(property).filter((other) => Object.hasOwn(input, other))
      errors.push(...present.map((other) => ({ name: other, message: `must not be given with ${name}` })))
    }
    return errors.length === 0 ? { value } : { errors }
  }
}

/** Turns decimal digits into a number. A fraction, an exponent or white space stays text, which is not valid. */
const asInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value

/** The first error of each value. */
const firstErrors = (all: readonly ErrorObject[], schema: TObject): InputError[] => {
  const errors = new Map<string, InputError>()
  for (const found of all) {
    const error = toInputError(found, schema)
    if (!errors.has(error.name)) errors.set(error.name, error)
  }
  return [...errors.values()]
}

const toInputError = ({ keyword, params, instancePath, data }: ErrorObject, schema: TObject): InputError => {
  if (keyword === 'additionalProperties') {
    return {
      name: params.additionalProperty,
      message: 'is not a parameter of this operation',
      allowed: Object.keys(schema.properties),
    }
  }
  if (keyword === 'required') return { name: params.missingProperty, message: 'is required' }
  const name = instancePath.slice(1)
  if (Array.isArray(data)) return { name, message: 'must be given only once' }
  const message = messages[keyword] as Message
  return { name, ...message(schema.properties[name] as TSchema) }
}
