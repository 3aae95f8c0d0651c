// Comma-separated values (RFC 4180) for people and their spreadsheets: a header, and a row for each document.
import type { TSchema } from '@sinclair/typebox'
import { BESIDE, isJoined } from '../../schemas/kit.js'
import { Bson, Bytes, type Element, elements } from '../bson/reader.js'
import { itemsOf, lastFieldOf, present, stringOf, type Value } from '../bson/values.js'
import { type ColumnFormat, compileRows } from './columns.js'
import type { CodeGenerator } from './generator.js'
import type { RowFormat } from './rows.js'
import { OVERHANG, ROOM, scalars, type Write, type Writer, WrongValue } from './scalars.js'
import type { Shown } from './writer.js'

export interface CsvOptions {
  /** Begins with a byte order mark, by which Excel knows UTF-8. */
  readonly bom?: boolean
  /** Keeps texts that a spreadsheet would run as formulas, for programs. */
  readonly keepsFormulas?: boolean
}

const LINE_END = '\r\n'
/** What stands between several values in a cell. */
const SEPARATOR = Buffer.from('; ')
const BOM = '\ufeff'

const quote = 0x22
const apostrophe = 0x27
const comma = 0x2c
const minus = 0x2d
const lineFeed = 0x0a
const carriageReturn = 0x0d
/** The first characters of texts that a spreadsheet runs as formulas (OWASP, CSV injection): = + - @, tab, LF, CR and NUL. */
const FORMULA = new Set([0x3d, 0x2b, minus, 0x40, 0x09, lineFeed, carriageReturn, 0x00])
const NUMBER = /^-\d+(\.\d+)?(e[+-]?\d+)?$/i

/** Ends a cell whose raw text is in the output. Returns the place behind it. */
type Finish = (output: Bytes, from: number, to: number) => number

const finishOf = (keepsFormulas = false): Finish =>
  keepsFormulas ? quoted : (output, from, to) => quoted(output, from, harmless(output, from, to))

/**
 * How CSV writes a row.
 * @param questions the texts of questions, each of which gets a column in place of the column `answers`
 */
export const csvColumns = ({ keepsFormulas }: CsvOptions, questions?: readonly string[]): ColumnFormat => {
  const finish = finishOf(keepsFormulas)
  const asked = (path: string) => (path === 'answers' ? questions : undefined)
  return {
    label: (path, isFirst) => (isFirst || asked(path) ? '' : ','),
    missing: ',',
    columnsOf: (path) => asked(path) ?? [path.replace(BESIDE, '')],
    writerOf: (schema, generator, path) =>
      asked(path) ? questionsWriter(schema, generator) : cellWriter(schema, generator),
    functions: { finish, writeRaw, writeTime, writeWords, writeQuestions: writeQuestions(questions ?? [], finish) },
    text: (input, type, at, output, to) => finish(output, to, writeRaw(input, type, at, output, to)),
    end: LINE_END,
  }
}

/** What a file begins with: the names of its columns. */
export const csvHeader = (names: readonly string[], { bom = false, keepsFormulas = false }: CsvOptions): string =>
  `${bom ? BOM : ''}${names.map((name) => headerCell(name, finishOf(keepsFormulas))).join()}${LINE_END}`

/** A header and the rows of documents. For the questions, see csvColumns. */
export const csv = (shown: Shown, options: CsvOptions, questions?: readonly string[]): RowFormat => {
  const rows = compileRows(shown, csvColumns(options, questions))
  return {
    begin: csvHeader(rows.columns, options),
    between: '',
    end: '',
    write(document, out) {
      rows.write(document, out)
      out.text(LINE_END)
    },
  }
}

/** The writer of a cell. What is neither a single value nor a list of words or ids is JSON. */
const cellWriter = (schema: TSchema, generator: CodeGenerator): Writer => {
  const resolve = (schema: TSchema): TSchema => generator.named.get(schema.$ref) ?? schema
  const branches: TSchema[] = schema.anyOf?.filter((branch: TSchema) => !isJoined(branch)) ?? []
  const stored = branches.length === 1 ? (branches[0] as TSchema) : schema
  const writer = generator.writerOf(stored)
  if (writer === scalars.instant) return { ...writer, name: 'writeTime' }
  if (writer !== scalars.string && writer.bsonTypes.every((type) => PLAIN.has(type))) return writer
  const items = stored.type === 'array' ? resolve(stored.items) : undefined
  const isList = items?.type === 'string' || Object.keys(items?.properties ?? {}).join() === 'id'
  // The JSON is written first, because it finds what does not fit.
  const json = `${writer.name}(input, type, at, output, to)`
  const raw = writer === scalars.string ? 'writeRaw(input, type, at, output, to)' : json
  const body = isList
    ? `${json}; return finish(output, to, writeWords(input, type, at, output, to))`
    : `return finish(output, to, ${raw})`
  return { ...writer, name: generator.function(body) }
}

/** The BSON types whose JSON needs no quotes. */
const PLAIN = new Set<number>([Bson.double, Bson.int32, Bson.int64, Bson.boolean, Bson.null])

const questionsWriter = (schema: TSchema, generator: CodeGenerator): Writer => {
  const writer = generator.writerOf(schema)
  const check = `${writer.name}(input, type, at, output, to)`
  return { ...writer, name: generator.function(`${check}; return writeQuestions(input, type, at, output, to)`) }
}

/** Writes a JSON string without its quotes. */
const unquoted =
  (write: Write): Write =>
  (input, type, at, output, to) => {
    const end = write(input, type, at, output, to)
    output.bytes.copyWithin(to, to + 1, end - 1)
    return end - 2
  }

const writeTime = unquoted(scalars.instant.write)
const writeObjectId = unquoted(scalars.string.write)

/** Writes the text of a string, an ObjectId or a number. */
const writeRaw: Write = (input, type, at, output, to) => {
  if (type === Bson.objectId) return writeObjectId(input, type, at, output, to)
  if (type !== Bson.string) return scalars.number.write(input, type, at, output, to)
  return to + input.bytes.copy(output.bytes, to, at + 4, at + 3 + input.view.getInt32(at, true))
}

/** Writes the words of values, or the ids of the records that are in them. */
const joinWords = (input: Bytes, values: Iterable<Value>, output: Bytes, begin: number): number => {
  const { bytes } = input
  let [to, isFirst] = [begin, true]
  for (const value of values) {
    for (const item of itemsOf(bytes, value)) {
      const { type, at } = item.type === Bson.document ? (lastFieldOf(bytes, item.at, '_id') as Element) : item
      if (!isFirst) to += SEPARATOR.copy(output.bytes, to)
      isFirst = false
      to = writeRaw(input, type, at, output, to)
    }
  }
  return to
}

const writeWords: Write = (input, type, at, output, to) => joinWords(input, [{ type, at }], output, to)

/** Writes a cell for each question. The answers have been checked. */
const writeQuestions = (questions: readonly string[], finish: Finish): Write => {
  const columns = new Map(questions.map((question, i) => [question, i]))
  return (input, _type, at, output, begin) => {
    const { bytes } = input
    const found: Element[][] = []
    for (const answer of elements(bytes, at)) {
      const value = present(lastFieldOf(bytes, answer.at, 'answer'))
      if (value === undefined) continue
      const column = columns.get(stringOf(bytes, lastFieldOf(bytes, answer.at, 'question')) as string)
      if (column === undefined) throw new WrongValue('has a question that came while the export was made', answer.at)
      const values = found[column] ?? []
      found[column] = values
      values.push(value)
    }
    let to = begin
    for (let i = 0; i < questions.length; i++) {
      output.bytes[to++] = comma
      const values = found[i]
      if (values !== undefined) to = finish(output, to, joinWords(input, values, output, to))
    }
    return to
  }
}

/** Puts an apostrophe before a text that a spreadsheet would run as a formula. A negative number stays one. */
const harmless: Finish = ({ bytes }, from, to) => {
  const first = bytes[from] as number
  if (from === to || !FORMULA.has(first)) return to
  if (first === minus && NUMBER.test(bytes.toString('latin1', from, to))) return to
  bytes.copyWithin(from + 1, from, to)
  bytes[from] = apostrophe
  return to + 1
}

/** Puts quotes around a text that needs them. An empty text gets them too, unlike a missing value. */
const quoted: Finish = ({ bytes }, from, to) => {
  let [quotes, needsQuotes] = [0, from === to]
  for (let i = from; i < to; i++) {
    const byte = bytes[i]
    if (byte === quote) quotes += 1
    else if (byte === comma || byte === lineFeed || byte === carriageReturn) needsQuotes = true
  }
  if (quotes === 0 && !needsQuotes) return to
  const end = to + quotes + 2
  let place = end - 1
  bytes[place] = quote
  for (let i = to - 1; i >= from; i--) {
    const byte = bytes[i] as number
    bytes[--place] = byte
    if (byte === quote) bytes[--place] = quote
  }
  bytes[from] = quote
  return end
}

const headerCell = (text: string, finish: Finish): string => {
  const output = new Bytes(Buffer.alloc(ROOM * Buffer.byteLength(text) + OVERHANG))
  return output.bytes.toString('utf8', 0, finish(output, 0, output.bytes.write(text)))
}
