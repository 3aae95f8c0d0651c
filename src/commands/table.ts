// Shows rows as a table in the terminal.
import { visible } from './run-command.js'

type Cell = string | Date | null

/** A stored value as a table and JSON can show it: null if it is neither a string nor a valid date. */
export const cellOf = (value: unknown): Cell =>
  typeof value === 'string' || (value instanceof Date && !Number.isNaN(value.getTime())) ? value : null

/** The lines of a table; the first line holds the names of the columns. Rare ones are there only if a row has a value for them. */
export const table = <Column extends string>(
  common: readonly Column[],
  rows: readonly Partial<Record<Column, Cell>>[],
  rare: readonly Column[] = [],
): string[] => {
  const columns = [...common, ...rare.filter((column) => rows.some((row) => row[column]))]
  const text = (cell: Cell | undefined) => (cell instanceof Date ? cell.toISOString() : visible(cell ?? '-'))
  const lines: string[][] = [columns, ...rows.map((row) => columns.map((column) => text(row[column])))]
  const widths = columns.map((_, i) => lines.reduce((width, line) => Math.max(width, (line[i] as string).length), 0))
  const padded = (cell: string, i: number) => cell.padEnd(widths[i] as number)
  return lines.map((line) => line.map(padded).join('  ').trimEnd())
}
