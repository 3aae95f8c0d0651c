// Compiles a writer of flat rows: what is in nested objects stands in columns, named by paths such as `location.state`.
import { type TSchema, Type } from '@sinclair/typebox'
import { isJoined, JOINED_SUFFIX } from '../../../schemas/kit.js'
import type { Bytes } from '../bson/reader.js'
import { CodeGenerator, type Field, ifPresent, type Text, writeText } from './generator.js'
import { type QuestionColumn, writeQuestions } from './question-columns.js'
import type { RowFormat } from './rows.js'
import { OVERHANG, type Write, type Writer } from './scalars.js'
import { documentWriter, runnable, type Shown } from './writer.js'

export interface Column {
  readonly name: string
  readonly schema: TSchema
}

/** What a value is. A text may be several words, or JSON. */
export type Kind = 'text' | 'number' | 'boolean' | 'time'

/** How a format writes a row. Its first column is always the id. */
export interface ColumnFormat {
  /** What a file begins with. */
  readonly header: (names: readonly string[]) => string
  /** What stands before the value of a column, which is counted from 0. It has the mark ROW for the number of the row. */
  readonly label: (name: string, column: number, kind: Kind) => string
  /** The number of the row that is written, if labels have it. */
  readonly rowNumber?: () => number
  /** What stands in place of a column whose value is missing, or nothing. */
  readonly missing: string
  /** The writer of a value that is no object, and what the value is. */
  readonly writerOf: (schema: TSchema, generator: CodeGenerator, name: string) => { writer: Writer; kind: Kind }
  /** The functions that these writers name. */
  readonly functions: Readonly<Record<string, unknown>>
  /** Writes a string, an id or a number as a raw text, or as a part of one. */
  readonly raw: Write
  /** Ends a value whose raw text is in the output. `at` is the place of the value in the input. Returns the place behind it. */
  readonly finish: (output: Bytes, from: number, to: number, at: number) => number
  /** A number with what ends it. */
  readonly number: (value: number) => string
  readonly end: () => string
}

/** Stands in a label for the number of the row, which has at most so many digits. */
export const ROW = '\0'
const ROW_DIGITS = 7

const resolve = (schema: TSchema, named: Shown['named']): TSchema =>
  (schema.$ref === undefined ? schema : named.get(schema.$ref)) as TSchema

const writeLabel = (label: string): Text => {
  const pieces = label.split(ROW).map(writeText)
  const last = pieces.pop() as Text
  const before = pieces.map(({ code, length }) => `${code}\nto = writeRow(output, to + ${length})\n`)
  return { ...last, code: before.join('') + last.code }
}

type Questions = readonly QuestionColumn[]

/** The properties of nested objects are columns. @param questions columns in place of the column `answers` */
export const tableOf = ({ schema, named }: Shown, format: ColumnFormat, questions?: Questions) => {
  const generator = new CodeGenerator(named)
  const columns: Column[] = []
  let labelBytes = OVERHANG
  const labelOf = (name: string, schema: TSchema, kind: Kind): string => {
    const label = format.label(name, columns.length, kind)
    columns.push({ name, schema })
    labelBytes += Buffer.byteLength(label) + ROW_DIGITS * label.split(ROW).length
    return label
  }
  const writeRow = ({ bytes }: Bytes, to: number) => to + bytes.write(String(format.rowNumber?.()), to)
  let functions: ColumnFormat['functions'] = { ...format.functions, writeRow }

  const object = (schema: TSchema, prefix: string): Writer => {
    const writing: ((field: Field, i: number) => string)[] = []
    const fields = generator.fieldsOf(schema, (property, name) => {
      const before = columns.length
      const { writer, label } = value(property, prefix + name)
      const missing = writeText(format.missing.repeat(columns.length - before))
      labelBytes += missing.length
      writing.push((field, i) => ifPresent(field, i, writeLabel(label), `{ ${missing.code}; to += ${missing.length} }`))
      return writer
    })
    return generator.walk(fields, fields.map((field, i) => writing[i]?.(field, i)).join('\n'))
  }
  const value = (property: TSchema, path: string): { writer: Writer; label: string } => {
    if (path === 'answers' && questions) return { writer: answers(property, questions), label: '' }
    const found = resolve(property, named)
    if (found.type === 'object') {
      const writer = object(found, `${path.replace(JOINED_SUFFIX, '')}.`)
      return { writer: isJoined(property) ? { ...writer, expected: 'an id', isJoined: true } : writer, label: '' }
    }
    const { writer, kind } = format.writerOf(property, generator, path)
    return { writer, label: labelOf(path, property, kind) }
  }
  /** The answers are written as JSON first, which finds what does not fit. */
  const answers = (property: TSchema, asked: Questions): Writer => {
    const labels = asked.map(({ name }) => labelOf(name, Type.String(), 'text').split(ROW))
    functions = { ...functions, writeQuestions: writeQuestions(asked, labels, format, writeRow) }
    const writer = generator.writerOf(property)
    const check = `${writer.name}(input, type, at, output, to)`
    return { ...writer, name: generator.function(`${check}; return writeQuestions(input, type, at, output, to)`) }
  }

  const writer = object(resolve(schema, named), '')
  const write = documentWriter(runnable(generator, writer, functions), labelBytes)
  const rows: RowFormat = {
    begin: format.header(columns.map(({ name }) => name)),
    write(document, out) {
      write(document, out)
      out.text(format.end())
    },
  }
  return { columns, rows }
}
