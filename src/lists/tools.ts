// What an assistant may read: entries in a table, and one with all its fields.
import { Type } from '@sinclair/typebox'
import { IdParams } from '../../schemas/common.js'
import { defaulted } from '../../schemas/kit.js'
import { few, filters, firstSentence, list, object, type Tool, total } from '../core/door/tools.js'
import { entries } from '../core/pipelines/entries.js'
import { projectionOf } from '../core/read/projection.js'
import { listOf, valuesOf } from '../core/read/values.js'

const text = Type.String()

export const tools: Readonly<Record<string, Tool>> = {
  find_entries: {
    description: `${firstSentence(entries.descriptions.list)} Newest first.`,
    takes: { ...filters, fields: list.properties.fields, limit: defaulted(few, 20) },
    gives: { total, columns: Type.Array(text), rows: Type.Array(Type.Array(Type.Unknown())) },
    async call({ reader }, { limit: perPage, zone: _, ...query }) {
      const newest = { sortBy: 'createdAt', sortOrder: 'desc' }
      const { rows, of, ...found } = await listOf(reader, entries, { ...query, ...newest, perPage })
      const columns = [...new Set(rows.flatMap(Object.keys))]
      const table = rows.map((row) => columns.map((name) => row[name] ?? null))
      return { ...found, columns, rows: table, of: { rows: of } }
    },
  },
  get_entry: {
    description: firstSentence(entries.descriptions.get),
    takes: IdParams('entry').properties,
    gives: { entry: object },
    async call({ reader }, { id }) {
      const projection = projectionOf(entries, reader.scope.without, {}, 'record')
      const document = await reader.record(entries, String(id), projection)
      const [entry] = await valuesOf([document], projection, reader.ticket)
      return { entry }
    },
  },
}
