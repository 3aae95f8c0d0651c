// Validates input that is all text, such as query strings and the environment, against a schema. Each error names the
// value, what is wrong with it and what is allowed.
import type { TObject, TSchema } from '@sinclair/typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { MAX_LATITUDE, MAX_LONGITUDE } from '../../../schemas/earth.js'
import type { Answered, Box } from '../../../schemas/entries.js'
import { annotationOf } from '../../../schemas/kit.js'
import { isAddressOrRange } from './addresses.js'
import { instantOf, intervalOf, isDay } from './instant.js'

const isOrigin = (text: string): boolean => !text.includes('*') && URL.canParse(text) && new URL(text).origin === text

/** The first = behind a key divides it from the answer. */
const askedOf = (text: string): Answered | undefined => {
  const [, key, answer] = /^([\da-f]{12})(?:=(.*))?$/s.exec(text) ?? []
  return key === undefined ? undefined : { key, ...(answer !== undefined && { answer }) }
}

const zoneOf = (name: string): string | undefined => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * The box that a text names as OGC API - Features does, by two corners: each has a longitude, a latitude and maybe a height,
 * which is ignored, because no record has one. A box whose first longitude is greater than its second crosses the antimeridian.
 * If it names none, the result is what is wrong with it.
 */
export const boxOf = (text: string): Box | string => {
  const texts = text.split(',')
  const bad = texts.find((each) => !NUMBER.test(each))
  if (bad !== undefined) return 'has a value that is not a number'
  if (texts.length !== 4 && texts.length !== 6) return `has ${texts.length} numbers`
  const numbers = texts.map(Number)
  const [west, south] = numbers as [number, number]
  const [east, north] = numbers.slice(texts.length / 2) as [number, number]
  if (Math.max(Math.abs(west), Math.abs(east)) > MAX_LONGITUDE) return 'has a longitude beyond 180 degrees'
  if (Math.max(Math.abs(south), Math.abs(north)) > MAX_LATITUDE) return 'has a latitude beyond 90 degrees'
  if (south > north) return 'has a first latitude that is greater than its second'
  return { west, south, east, north }
}

interface Format {
  readonly description: string
  readonly validate: (text: string) => boolean
  /** The value that it stands for, if that is of another type. */
  readonly read?: (text: string) => unknown
}

const standsFor = (read: (text: string) => unknown, description: string): Format => ({
  description,
  validate: (text) => read(text) !== undefined,
  read,
})

const formats: Readonly<Record<string, Format>> = {
  'mongodb-uri': {
    description:
      'a URI that begins with mongodb:// or mongodb+srv:// and names a database, as in mongodb://host/database',
    validate: (text) => /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]{1,63}(\?.*)?$/.test(text),
  },
  'base-url': {
    description: 'an absolute http or https URL without user, query and fragment',
    validate: (text) => /^https?:\/\/[^?#@\s]+$/.test(text) && !/%(?![\da-f]{2})/i.test(text) && URL.canParse(text),
  },
  'date-time': standsFor(
    instantOf,
    'a time with a time zone (RFC 3339), such as 2025-03-14T09:26:53.589Z or 2025-03-14T10:26:53+01:00; in a URL, + is written as %2B',
  ),
  /** A day stays a text, because its beginning depends on the time zone. */
  'day-or-time': standsFor(
    (text) => instantOf(text) ?? (isDay(text) ? text : undefined),
    'a day, such as 2025-03-14, or a time with a time zone (RFC 3339), such as 2025-03-14T09:26:53Z or 2025-03-14T10:26:53+01:00',
  ),
  bbox: {
    description:
      'minLongitude,minLatitude,maxLongitude,maxLatitude in degrees (WGS 84), such as 2.6,4.2,14.7,13.9; across the antimeridian the first longitude is the greater one',
    validate: (text) => typeof boxOf(text) !== 'string',
    read: boxOf,
  },
  interval: standsFor(
    intervalOf,
    'a time with a time zone (RFC 3339) or a day, or two of them with / between them, of which one may be .. or nothing, such as 2025-03-14T09:26:53Z, 2025-03-01/2025-03-31 or 2025-03-01T00:00:00Z/..; in a URL, + is written as %2B',
  ),
  answered: standsFor(
    askedOf,
    'the key of a question, 12 hexadecimal digits such as 3f9a0c11d2e4, or such a key with = and an answer behind it',
  ),
  'time-zone': standsFor(zoneOf, 'the name of a time zone (IANA), such as Africa/Lagos or UTC'),
  'origin-list': {
    description: 'origins separated by commas, such as https://app.example.org, or *',
    validate: (text) => text === '*' || text.split(/\s*,\s*/).every(isOrigin),
  },
  'address-list': {
    description: 'a list of IP addresses or CIDR ranges, separated by commas',
    validate: (text) => text.split(/\s*,\s*/).every(isAddressOrRange),
  },
}

// The schemas are our own. To check them, and to tidy the generated code, would take longer at the start than it is worth.
const quick = { meta: false, validateSchema: false, code: { optimize: false } }
const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, formats, ...quick })
// It tells OpenAPI how several values are written.
ajv.addKeyword('explode')

/** What was compiled, by the text of the schema: the same operation of several resources has the same parameters. */
const validators = new Map<string, ValidateFunction>()

const MAX_SHOWN = 50

interface InputError {
  name: string
  message: string
  allowed?: string[]
}

/** Undefined for what Ajv says. @param has what is wrong with the value, where that is told: a part of the sentence */
type Message = (schema: TSchema, has: string) => Omit<InputError, 'name'> | undefined

const integer: Message = ({ minimum, maximum }) => ({ message: `must be an integer from ${minimum} to ${maximum}` })

/** The error for each keyword of the schema of a value or of a list. For any other, the error is Ajv's. */
const messages: Readonly<Record<string, Message>> = {
  type: integer,
  minimum: integer,
  maximum: integer,
  enum: ({ items, enum: allowed = items?.enum }, has) => {
    const words = allowed.join(', ')
    const which = items === undefined ? `one of ${words}` : `one or more of ${words}, separated by commas`
    return { message: `${has}must be ${which}`, allowed }
  },
  format: ({ items, format = items?.format }, has) => ({ message: `${has}must be ${formats[format]?.description}` }),
  pattern: (schema, has) => {
    const { words } = annotationOf(schema)
    return words === undefined ? undefined : { message: `${has}must be ${words}` }
  },
  minLength({ items, minLength }) {
    if (items !== undefined) return { message: 'must be values separated by commas, none of them empty' }
    return { message: minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters` }
  },
  maxItems: ({ maxItems, explode }) => ({
    message: `must ${explode ? `be given at most ${maxItems} times` : `have at most ${maxItems} values, separated by commas`}`,
  }),
  uniqueItems: () => ({ message: 'must not have the same value twice' }),
}

/** A value of a list as an error shows it: cut, because it comes from the caller and is in the response twice. */
const shown = (value: string): string =>
  value === '' ? 'an empty value' : JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value)

/** What is wrong with a value, before what it must be. */
const faultOf = ({ type, format }: TSchema, value: unknown): string => {
  if (type === 'array') return `has ${shown(String(value))}, but `
  return format === 'bbox' ? `${boxOf(value as string)}, but ` : ''
}

/** Compiles an object schema into a function that checks input. It gives the values, with types and defaults, or the errors. */
export const textChecker = (schema: TObject) => {
  const { properties } = schema
  const text = JSON.stringify(schema)
  const validate = validators.get(text) ?? ajv.compile(schema)
  validators.set(text, validate)
  return (input: Readonly<Record<string, unknown>>): { value: unknown } | { errors: readonly InputError[] } => {
    const known = Object.keys(input).filter((name) => Object.hasOwn(properties, name))
    const given = known.map((name) => [name, properties[name] as TSchema] as const)
    const value = { ...input }
    for (const [name, property] of given) {
      const { type, maximum, format, explode } = property
      if (type === 'integer') value[name] = asInteger(value[name])
      const number = value[name]
      if (annotationOf(property).capped && typeof number === 'number') value[name] = Math.min(number, maximum)
      if (type === 'array') value[name] = explode ? [value[name]].flat() : asList(value[name])
      if (format === 'bbox') value[name] = asList(value[name]).join()
    }
    const errors = validate(value) ? [] : firstErrors(validate.errors as ErrorObject[], schema)
    for (const [name, property] of given) {
      const present = (annotationOf(property).excludes ?? []).filter((other) => Object.hasOwn(input, other))
      errors.push(...present.map((other) => ({ name: other, message: `must not be given with ${name}` })))
    }
    if (errors.length > 0) return { errors }
    for (const [name, { format, items }] of given) {
      const { read } = formats[format ?? items?.format] ?? {}
      if (read !== undefined) value[name] = items ? (value[name] as string[]).map(read) : read(value[name] as string)
    }
    return { value }
  }
}

/** Turns decimal digits into a number. A fraction, an exponent or white space stays text, which is not valid. */
const asInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value

/** The values of a list, in one parameter or, as some generated clients write it, in several. White space is cut. */
const asList = (value: unknown): string[] =>
  [value as string | string[]].flat().flatMap((text) => text.split(',').map((each) => each.trim()))

const firstErrors = (all: readonly ErrorObject[], schema: TObject): InputError[] => {
  const errors = new Map<string, InputError>()
  for (const found of all) {
    const error = toInputError(found, schema)
    if (!errors.has(error.name)) errors.set(error.name, error)
  }
  return [...errors.values()]
}

const toInputError = ({ keyword, params, instancePath, data, message }: ErrorObject, schema: TObject): InputError => {
  if (keyword === 'additionalProperties') {
    const allowed = Object.keys(schema.properties)
    return { name: params.additionalProperty, message: 'is not a parameter of this operation', allowed }
  }
  if (keyword === 'required') return { name: params.missingProperty, message: 'is required' }
  const [name] = instancePath.slice(1).split('/') as [string, string?]
  const property = schema.properties[name] as TSchema
  if (Array.isArray(data) && property.type !== 'array') return { name, message: 'must be given only once' }
  return { name, ...(messages[keyword]?.(property, faultOf(property, data)) ?? { message: message as string }) }
}
