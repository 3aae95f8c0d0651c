// Checks input against its schema and says of each fault what is wrong and what is allowed: for the parameters of a
// request and for the settings of the process.
import { isIP } from 'node:net'
import type { TObject, TSchema } from '@sinclair/typebox'
import { Ajv, type ErrorObject } from 'ajv'

const isAddress = (text: string): boolean => {
  const [address, bits, ...rest] = text.split('/') as [string, ...string[]]
  const size = isIP(address) === 6 ? 128 : 32
  const isRange = bits === undefined || (/^[1-9]\d*$/.test(bits) && Number(bits) <= size)
  return isIP(address) !== 0 && isRange && rest.length === 0
}

/** Formats of settings, in the words that an error uses. */
const formats: Record<string, (text: string) => boolean> = {
  'a URI that begins with mongodb:// or mongodb+srv:// and names a database, as in mongodb://host/database': (text) =>
    /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]{1,63}(\?.*)?$/.test(text),
  'an absolute http or https URL without user, query and fragment': (text) =>
    /^https?:\/\/[^?#@]+$/.test(text) && !/%(?![\da-f]{2})/i.test(text) && URL.canParse(text),
  'a list of IP addresses or CIDR ranges, separated by commas': (text) => text.split(/\s*,\s*/).every(isAddress),
}

const ajv = new Ajv({ allErrors: true, useDefaults: true, strictSchema: false, verbose: true, formats })

/** One fault of the input. */
export interface InputFault {
  name: string
  message: string
  /** What is allowed, where it can be listed. */
  allowed?: string[]
}

/** Input that its schema does not take. */
export class InvalidInput extends Error {
  constructor(readonly faults: readonly InputFault[]) {
    super(`${faults.length} values are not allowed`)
    this.name = 'InvalidInput'
  }
}

/**
 * Compiles an object schema into a check of input that is all text, as query strings and the environment are. The check
 * gives the values with the types of the schema and with its defaults, or throws InvalidInput.
 */
export const textChecker = (schema: TObject): ((input: Readonly<Record<string, unknown>>) => unknown) => {
  const validate = ajv.compile(schema)
  const integers = Object.entries(schema.properties).flatMap(([name, { type }]) => (type === 'integer' ? name : []))
  return (input) => {
    const values = { ...input }
    for (const name of integers) if (name in values) values[name] = asInteger(values[name])
    if (validate(values)) return values
    throw new InvalidInput(faults(validate.errors as ErrorObject[], schema))
  }
}

/** Decimal digits become a number: no fraction, no exponent, no white space. */
const asInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value

/** One fault for each name: the first that was found. */
const faults = (errors: readonly ErrorObject[], schema: TObject): InputFault[] => {
  const found = new Map<string, InputFault>()
  for (const error of errors) {
    const fault = faultOf(error, schema)
    if (!found.has(fault.name)) found.set(fault.name, fault)
  }
  return [...found.values()]
}

const faultOf = ({ keyword, params, instancePath, data }: ErrorObject, schema: TObject): InputFault => {
  if (keyword === 'additionalProperties') {
    return {
      name: params.additionalProperty,
      message: 'is not a parameter of this operation',
      allowed: Object.keys(schema.properties),
    }
  }
  const name = instancePath.slice(1)
  const { type, minimum, maximum, format } = schema.properties[name] as TSchema
  if (Array.isArray(data)) return { name, message: 'must be given only once' }
  if (keyword === 'enum') {
    return { name, message: `must be one of ${params.allowedValues.join(', ')}`, allowed: params.allowedValues }
  }
  if (type === 'integer') return { name, message: `must be an integer from ${minimum} to ${maximum}` }
  return { name, message: keyword === 'format' ? `must be ${format}` : 'must not be empty' }
}
