// Compiles a writer for formats whose rows are flat: what a document has in nested objects stands in columns of its own,
// named by their paths, such as `location.state`.
import type { TSchema } from '@sinclair/typebox'
import { isJoined } from '../../schemas/kit.js'
import { CodeGenerator, type Field, ifPresent, writeText } from './generator.js'
import { OVERHANG, type Write, type Writer } from './scalars.js'
import { documentWriter, runnable, type Shown } from './writer.js'

/** How a format writes a row. Its first column is always the id. */
export interface ColumnFormat {
  /** What stands before the value of a column. */
  readonly label: (path: string, isFirst: boolean) => string
  /** What stands in place of a column whose value is missing, or nothing. */
  readonly missing: string
  /** The writer of a value that is no object. */
  readonly writerOf: (schema: TSchema, generator: CodeGenerator, path: string) => Writer
  /** The functions that these writers name. */
  readonly functions: Readonly<Record<string, unknown>>
  /** The names of the columns of a value that is no object, by default its path alone. */
  readonly columnsOf?: (path: string) => readonly string[]
  /** Writes a string, an id or a number as a text. */
  readonly text: Write
  /** What ends a row. */
  readonly end: string
}

/** Compiles a writer of the rows of a schema, with the names of its columns. */
export const compileRows = ({ schema, named }: Shown, format: ColumnFormat) => {
  const generator = new CodeGenerator(named)
  const columns: string[] = []
  let labelBytes = OVERHANG
  const resolved = (schema: TSchema): TSchema =>
    (schema.$ref === undefined ? schema : named.get(schema.$ref)) as TSchema

  const object = (schema: TSchema, prefix: string): Writer => {
    const writing: ((field: Field, i: number) => string)[] = []
    const fields = generator.fieldsOf(schema, (property, name) => {
      const path = prefix + name
      const first = columns.length
      const found = resolved(property)
      const isObject = found.type === 'object'
      if (!isObject) columns.push(...(format.columnsOf?.(path) ?? [path]))
      const writer = isObject ? object(found, `${path}.`) : format.writerOf(property, generator, path)
      const label = writeText(isObject ? '' : format.label(path, first === 0))
      const missing = writeText(format.missing.repeat(columns.length - first))
      labelBytes += label.length + missing.length
      const otherwise = `{ ${missing.code}; to += ${missing.length} }`
      writing.push((field, i) => ifPresent(field, i, label, otherwise))
      return isObject && isJoined(property) ? { ...writer, expected: 'an id', isJoined: true } : writer
    })
    return generator.walk(fields, fields.map((field, i) => writing[i]?.(field, i)).join('\n'))
  }

  const write = documentWriter(runnable(generator, object(resolved(schema), ''), format.functions), labelBytes)
  return { columns, write }
}
