// Reads a file of newline-delimited JSON as documents to store. A line that is no valid document gets an error message.
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { KindGuard, type TObject, type TSchema } from '@sinclair/typebox'
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import { instantOf } from '../core/validation/instant.js'
import { CommandError } from './run-command.js'

export interface Line {
  /** Counted from 1. */
  number: number
  /** In bytes. */
  size: number
  document?: Record<string, unknown>
  error?: string
}

/** What a date of a line must not have: small letters, and digits that the database would cut off. */
const INEXACT = /[tz]|\.\d{4}/
/** MongoDB's own limit. */
const MAX_DEPTH = 100
const LONE_SURROGATE = /\p{Surrogate}/u
/** Property names that cannot be stored. The driver reads an object with `_bsontype` as one of its own types. */
const UNSTORABLE_NAME = /[\0\p{Surrogate}]|^_bsontype$/u
/** Low enough that any line, converted to BSON, stays below MongoDB's limit of 16 MiB. */
const MAX_LINE_BYTES = 2 * 1024 * 1024
/** The ids of all lines are remembered, to find a repeated id. They take a gigabyte. No Map holds more than 16.7 million. */
const MAX_LINES = 10_000_000
const CHUNK_BYTES = 512 * 1024
const NEWLINE = 0x0a

/**
 * Reads the lines of a file that are not blank, as documents of the schema that belong to the organisation. A line has
 * its id as `id` or `_id` and dates as ISO 8601 strings with a time zone; it may leave the organisation out.
 */
export async function* readLines(
  file: string,
  schema: TObject,
  organisation: string,
  maxLines = MAX_LINES,
): AsyncGenerator<Line> {
  let number = 0
  for await (const { bytes, size } of linesIn(createReadStream(file, { highWaterMark: CHUNK_BYTES }))) {
    number += 1
    if (number > maxLines && size > 0) throw new CommandError(`${file} has more than ${maxLines} lines: split it`)
    if (bytes === undefined) yield { number, size, error: 'is longer than 2 MiB' }
    else if (!isUtf8(bytes)) yield { number, size, error: 'is not valid UTF-8' }
    else {
      const text = number === 1 ? bytes.toString().replace(/^\uFEFF/, '') : bytes.toString()
      if (text.trim() !== '') yield { number, size, ...read(text, schema, organisation) }
    }
  }
}

/** Splits a stream of bytes into lines. A line that is too long comes without its bytes. */
async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ bytes?: Buffer; size: number }> {
  let slices: Buffer[] = []
  let size = 0
  const line = () => {
    const whole = size > MAX_LINE_BYTES ? { size } : { size, bytes: Buffer.concat(slices) }
    slices = []
    size = 0
    return whole
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      size += end - start
      slices.push(chunk.subarray(start, end))
      yield line()
      start = end + 1
    }
    size += chunk.length - start
    if (size <= MAX_LINE_BYTES) slices.push(chunk.subarray(start))
  }
  yield line()
}

/** What other programs write for numbers that are none. */
const NO_NUMBER = /[:[,]\s*(NaN|-?Infinity)\b/

const read = (text: string, schema: TObject, organisation: string): Omit<Line, 'number' | 'size'> => {
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch (error) {
    if (!/^\s*[{[]/.test(text))
      return { error: 'is not a JSON object, so the file may be a CSV: examples/from_odk.py makes lines of one' }
    const [, name] = NO_NUMBER.exec(text) ?? []
    if (name !== undefined) return { error: `has ${name}, which is not JSON: leave the field out` }
    return { error: `is not valid JSON: ${(error as Error).message}` }
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return { error: 'is not a JSON object' }
  const { id, ...fields } = record as Record<string, unknown>
  if (id !== undefined && '_id' in fields) return { error: 'has both id and _id' }
  if ('organisation' in fields && fields.organisation !== organisation)
    return { error: `organisation: must be ${organisation} or left out` }
  const document = withDates({ ...(id !== undefined && { _id: id }), ...fields, organisation }, schema)
  const schemaErrors = messagesOf(Value.Errors(schema, document)).join('; ')
  const error = schemaErrors || unstorableIn(document, text)?.replace(/^_id:/, 'id:')
  return error === undefined ? { document: document as Record<string, unknown> } : { error }
}

/** From here on JavaScript writes a number with an exponent. */
const EXPONENT_FROM = 1e21

/** Finds what the schema allows but BSON cannot store, JSON could not serve, or JSON.parse() has changed. */
const unstorableIn = (value: unknown, line: string, path: readonly string[] = []): string | undefined => {
  const place = path.slice(0, 4).join('.')
  if (typeof value === 'string' && LONE_SURROGATE.test(value)) return `${place}: contains half of a surrogate pair`
  // JSON.parse() reads a number that is too large as Infinity, which JSON cannot express.
  if (typeof value === 'number' && !Number.isFinite(value)) return `${place}: contains a number beyond ±1.8e308`
  const isInexact = typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
  if (isInexact && Math.abs(value) < EXPONENT_FROM && !line.includes(String(value)))
    return `${place}: contains an integer beyond ±${Number.MAX_SAFE_INTEGER} that would lose digits`
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > MAX_DEPTH) return `${place}: is nested deeper than ${MAX_DEPTH} levels`
  for (const [name, inner] of Object.entries(value)) {
    if (UNSTORABLE_NAME.test(name))
      return `${place}: contains the property name ${JSON.stringify(name)}, which cannot be stored`
    const error = unstorableIn(inner, line, [...path, name])
    if (error !== undefined) return error
  }
  return undefined
}

/** Replaces strings by dates wherever the schema has a date. Strings that are not valid instants stay as they are. */
const withDates = (value: unknown, schema: TSchema | undefined): unknown => {
  if (KindGuard.IsDate(schema))
    return typeof value === 'string' && !INEXACT.test(value) ? (instantOf(value) ?? value) : value
  if (!KindGuard.IsObject(schema) || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, withDates(field, schema.properties[name])]),
  )
}

const MAX_ERRORS = 10

/**
 * The errors of a document as texts, one for each field: a field that is missing is also of a wrong type. Each begins with
 * the field and says what is allowed instead.
 * @param isHarmless whether an error does not count
 */
export const messagesOf = (
  errors: Iterable<ValueError>,
  date = 'a date such as 2025-03-14T09:26:53.589Z',
  isHarmless: (error: ValueError) => boolean = () => false,
): string[] => {
  const messages = new Map<string, string>()
  for (const error of errors) {
    if (isHarmless(error) || messages.has(error.path)) continue
    messages.set(error.path, messageOf(error, date))
    if (messages.size === MAX_ERRORS) break
  }
  return [...messages.values()]
}

const messageOf = ({ type, path, message, schema }: ValueError, date: string): string => {
  const field = path.slice(1).replaceAll('/', '.').replace(/^_id$/, 'id')
  if (type === ValueErrorType.ObjectRequiredProperty) return `${field}: is missing`
  if (type === ValueErrorType.ObjectAdditionalProperties) return `${field}: is not a known field`
  if (KindGuard.IsDate(schema)) return `${field}: must be ${date}, from the year 0001 to 9999 in UTC`
  if (KindGuard.IsUnion(schema) && schema.anyOf.every(KindGuard.IsLiteral))
    return `${field}: must be one of ${schema.anyOf.map((literal) => literal.const).join(', ')}`
  if (KindGuard.IsUnion(schema) && schema.anyOf.some(KindGuard.IsArray))
    return `${field}: must be a text or a list of texts, such as "34"`
  if (type === ValueErrorType.StringPattern && schema.description) return `${field}: ${schema.description}`
  return `${field}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
