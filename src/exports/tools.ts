// What an assistant may tell of files: the address of one.
import { Type } from '@sinclair/typebox'
import type { Answered } from '../../schemas/entries.js'
import { type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { filters, type Tool, total } from '../core/door/tools.js'
import { baseOf } from '../core/http/address.js'
import { entries } from '../core/pipelines/entries.js'
import { listOf } from '../core/read/values.js'

const text = Type.String()

/** A checked argument as a URL has it. */
const textOf = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'object') return String(value)
  const { key, answer } = value as Answered
  return answer === undefined ? key : `${key}=${answer}`
}

export const tools: Readonly<Record<string, Tool>> = {
  export_link: {
    description: 'The address of a file with all entries that match, and a command that fetches it.',
    takes: { ...FormatParams(Object.keys(mediaTypes) as FormatName[]).properties, ...filters },
    gives: { total, url: text, curl: text },
    async call(request, { zone: _, ...query }, { format, zone: __, ...texts }) {
      const { total } = await listOf(request.reader, entries, { ...query, perPage: 1, fields: ['id'] })
      const all = Object.entries(texts).flatMap(([name, value]) =>
        [value].flat().map((each): [string, string] => [name, textOf(each)]),
      )
      const parameters = new URLSearchParams(all)
      const path = `/v1/exports/entries.${format}${parameters.size > 0 ? '?' : ''}${parameters}`
      const url = `${baseOf(request, request.server.config.publicUrl)}${path}`
      const curl = `curl --fail-with-body -H "Authorization: Bearer $API_KEY" -o entries.${format} '${url}'`
      return { total, url, curl }
    },
  },
}
