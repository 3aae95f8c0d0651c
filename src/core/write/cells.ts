// Cells of spreadsheets. A cell is a number, a boolean, a time, or a text for people.
import type { TSchema } from '@sinclair/typebox'
import { storedBranches } from '../../../schemas/kit.js'
import type { ColumnFormat, Kind } from './columns.js'
import type { CodeGenerator } from './generator.js'
import { joinWords } from './question-columns.js'
import { bare, scalars, type Write, type Writer } from './scalars.js'

/** A format whose rows have cells. Where it has no function for numbers or booleans, these are as in JSON. */
export type CellFormat = Omit<ColumnFormat, 'writerOf' | 'functions' | 'raw'> & {
  readonly cells: Readonly<Partial<Record<Exclude<Kind, 'text'>, Write>>>
}

export const cellColumns = ({ cells, ...format }: CellFormat): ColumnFormat => ({
  ...format,
  raw: bare,
  functions: { finish: format.finish, cells, bare, writeWords },
  writerOf(schema, generator) {
    const stored = storedIn(schema)
    const writer = generator.writerOf(stored)
    const kind = kindOf(writer)
    if (kind === 'text') return { kind, writer: { ...writer, name: textWriter(stored, writer, generator) } }
    if (cells[kind] === undefined) return { kind, writer }
    const cell = `cells.${kind}`
    // The JSON of a number is written first, because an integer may be none.
    const write = `${writer.name}(input, type, at, output, to); return ${cell}(input, type, at, output, to)`
    return { kind, writer: { ...writer, name: kind === 'number' ? generator.function(write) : cell } }
  },
})

const writeWords: Write = (input, type, at, output, to) => joinWords(bare, input, [{ type, at }], output, to)

/** A record in place of its id is in no cell. */
const storedIn = (schema: TSchema): TSchema => {
  const [branch = schema, ...others] = storedBranches(schema)
  return others.length === 0 ? branch : schema
}

const kindOf = (writer: Writer): Kind => {
  if (writer === scalars.instant) return 'time'
  if (writer === scalars.boolean) return 'boolean'
  return writer.bsonTypes.every((type) => scalars.number.bsonTypes.includes(type)) ? 'number' : 'text'
}

/** A function that writes a string as it is, words with a separator, and anything else as JSON. */
const textWriter = ({ type, items }: TSchema, writer: Writer, generator: CodeGenerator): string => {
  const item: TSchema | undefined = type === 'array' ? (generator.named.get(items.$ref) ?? items) : undefined
  const isList = item?.type === 'string' || Object.keys(item?.properties ?? {}).join() === 'id'
  const json = `${writer.name}(input, type, at, output, to)`
  // The JSON of a list is written first, because it finds what does not fit.
  const text = isList ? `(${json}, writeWords(input, type, at, output, to))` : json
  const raw = writer === scalars.string ? 'bare(input, type, at, output, to)' : text
  return generator.function(`return finish(output, to, ${raw}, at)`)
}
