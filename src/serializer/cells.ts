// Cells of spreadsheets. A cell is a number, a boolean, a time, or a text for people.
import type { TSchema } from '@sinclair/typebox'
import { isJoined } from '../../schemas/kit.js'
import type { ColumnFormat, Kind } from './columns.js'
import type { CodeGenerator } from './generator.js'
import { joinWords } from './questions.js'
import { bare, scalars, type Write, type Writer } from './scalars.js'

/** A format whose rows have cells. */
export type CellFormat = Omit<ColumnFormat, 'writerOf' | 'functions' | 'raw'> & {
  /** How it writes values that are no texts. */
  readonly cells: Readonly<Record<Exclude<Kind, 'text'>, Write>>
}

export const cellColumns = ({ cells, ...format }: CellFormat): ColumnFormat => ({
  ...format,
  raw: bare,
  functions: {
    finish: format.finish,
    numberCell: cells.number,
    booleanCell: cells.boolean,
    timeCell: cells.time,
    bare,
    writeWords: ((input, type, at, output, to) => joinWords(bare, input, [{ type, at }], output, to)) satisfies Write,
  },
  writerOf(schema, generator) {
    const stored = storedIn(schema)
    const writer = generator.writerOf(stored)
    const kind = kindOf(writer)
    const cell = kind === 'text' ? textOf(stored, writer, generator) : `${kind}Cell(input, type, at, output, to)`
    // The JSON is written first, because it finds what does not fit.
    const check = `${writer.name}(input, type, at, output, to)`
    return { kind, writer: { ...writer, name: generator.function(`${check}; return ${cell}`) } }
  },
})

/** A record in place of its id is in no cell. */
const storedIn = (schema: TSchema): TSchema => {
  const branches: TSchema[] = schema.anyOf?.filter((branch: TSchema) => !isJoined(branch)) ?? []
  return branches.length === 1 ? (branches[0] as TSchema) : schema
}

const kindOf = (writer: Writer): Kind => {
  if (writer === scalars.instant) return 'time'
  if (writer === scalars.boolean) return 'boolean'
  return writer.bsonTypes.every((type) => scalars.number.bsonTypes.includes(type)) ? 'number' : 'text'
}

/** Code that writes the text of a value: a string as it is, words with a separator, and anything else as JSON. */
const textOf = ({ type, items }: TSchema, writer: Writer, { named }: CodeGenerator): string => {
  const item: TSchema | undefined = type === 'array' ? (named.get(items.$ref) ?? items) : undefined
  const isList = item?.type === 'string' || Object.keys(item?.properties ?? {}).join() === 'id'
  const write = isList ? 'writeWords' : writer === scalars.string ? 'bare' : writer.name
  return `finish(output, to, ${write}(input, type, at, output, to), at)`
}
