// Reads a file of newline-delimited JSON (one object a line) into stored documents, and says of each line that is none
// what is wrong with it. Nothing is written here.
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { KindGuard, type TObject, type TSchema } from '@sinclair/typebox'
import { Value, type ValueError } from '@sinclair/typebox/value'

/** A line of the file: the document that it holds, or what is wrong with it. */
export interface Line {
  number: number
  /** Its length in bytes. */
  size: number
  document?: Record<string, unknown>
  fault?: string
}

const INSTANT = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,3})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
/** MongoDB's own limit. */
const MAX_DEPTH = 100
const LONE_SURROGATE = /\p{Surrogate}/u
/** The driver takes an object with the latter name for one of its own types. */
const UNSTORABLE_NAME = /[\0\p{Surrogate}]|^_bsontype$/u
/** Whatever the text of a line holds, as BSON it stays below the 16 MiB that MongoDB takes. */
const MAX_LINE_BYTES = 2 * 1024 * 1024
/** How much of the file is read at once. */
const CHUNK_BYTES = 512 * 1024
const NEWLINE = 0x0a

/**
 * The lines of a file that are not blank, as documents of the schema and of the organisation. A line gives its id as
 * `id` or `_id` and its instants as ISO 8601 texts with a time zone; it need not name the organisation.
 */
export async function* readLines(file: string, schema: TObject, organisation: string): AsyncGenerator<Line> {
  let number = 0
  for await (const { bytes, size } of linesIn(createReadStream(file, { highWaterMark: CHUNK_BYTES }))) {
    number += 1
    if (bytes === undefined) yield { number, size, fault: 'is longer than 2 MiB' }
    else if (!isUtf8(bytes)) yield { number, size, fault: 'holds bytes that are no UTF-8' }
    else {
      const text = number === 1 ? bytes.toString().replace(/^\uFEFF/, '') : bytes.toString()
      if (text.trim() !== '') yield { number, size, ...read(text, schema, organisation) }
    }
  }
}

/** The lines of a stream of bytes. Of one that is too long no more than its length is kept. */
async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ bytes?: Buffer; size: number }> {
  let parts: Buffer[] = []
  let size = 0
  const line = () => {
    const whole = size > MAX_LINE_BYTES ? { size } : { size, bytes: Buffer.concat(parts) }
    parts = []
    size = 0
    return whole
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      size += end - start
      parts.push(chunk.subarray(start, end))
      yield line()
      start = end + 1
    }
    size += chunk.length - start
    if (size <= MAX_LINE_BYTES) parts.push(chunk.subarray(start))
  }
  yield line()
}

const read = (text: string, schema: TObject, organisation: string): Omit<Line, 'number' | 'size'> => {
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch (error) {
    return { fault: `is no JSON: ${(error as Error).message}` }
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return { fault: 'is no JSON object' }
  const { id, ...fields } = record as Record<string, unknown>
  if (id !== undefined && '_id' in fields) return { fault: 'has both id and _id' }
  if ('organisation' in fields && fields.organisation !== organisation) {
    return { fault: `organisation is not ${organisation}` }
  }
  const document = withInstants({ ...(id !== undefined && { _id: id }), ...fields, organisation }, schema)
  const error = Value.Errors(schema, document).First()
  const fault = error === undefined ? faultIn(document) : faultOf(error)
  return fault === undefined ? { document: document as Record<string, unknown> } : { fault }
}

/** What is wrong with a value of JSON: whether it could not be stored as it is, or not be served. */
const faultIn = (value: unknown, path: readonly string[] = []): string | undefined => {
  const place = path.slice(0, 4).join('.')
  if (typeof value === 'string' && LONE_SURROGATE.test(value)) return `${place}: holds half of a surrogate pair`
  // What is too large a number for JavaScript comes out of the JSON as an infinity, which could not go into JSON again.
  if (typeof value === 'number' && !Number.isFinite(value)) return `${place}: holds a number beyond ±1.8e308`
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > MAX_DEPTH) return `${place}: nests deeper than ${MAX_DEPTH} levels`
  for (const [name, inner] of Object.entries(value)) {
    if (UNSTORABLE_NAME.test(name))
      return `${place}: holds the name ${JSON.stringify(name)}, which BSON has no place for`
    const fault = faultIn(inner, [...path, name])
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The value with a Date wherever the schema has one and the text is an instant. */
const withInstants = (value: unknown, schema: TSchema): unknown => {
  if (KindGuard.IsDate(schema)) {
    return typeof value === 'string' && isInstant(value) ? new Date(value) : value
  }
  if (!KindGuard.IsObject(schema) || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const property = schema.properties[name]
      return [name, property === undefined ? field : withInstants(field, property)]
    }),
  )
}

/** Unlike Date, which makes the 1st of March of a 30th of February. */
const isInstant = (text: string): boolean => {
  const day = INSTANT.exec(text)?.[1]
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(`${day}T`)
}

const faultOf = ({ path, message, schema }: ValueError): string => {
  const field = path.slice(1).replaceAll('/', '.').replace(/^_id$/, 'id')
  if (KindGuard.IsDate(schema)) {
    return `${field}: expected an instant such as 2025-03-14T09:26:53.589Z, in UTC from the year 0001 to 9999`
  }
  if (KindGuard.IsUnion(schema) && schema.anyOf.every(KindGuard.IsLiteral)) {
    return `${field}: must be one of ${schema.anyOf.map((literal) => literal.const).join(', ')}`
  }
  return `${field}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
