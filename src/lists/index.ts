// The two kinds of operation that every resource has: a page of its list, and a record by its id.
import { Type } from '@sinclair/typebox'
import { IdParams, type Listing, type PageLimits } from '../../schemas/common.js'
import { one, page } from '../../schemas/envelope.js'
import { defaulted, strict } from '../../schemas/kit.js'
import { type Asked, pageAnswer } from '../core/door/answer.js'
import type { Capability, Route } from '../core/door/capability.js'
import { linked, problemsOn, tagged } from '../core/door/responses.js'
import { few, filters, firstSentence, list, object, text, total } from '../core/door/tools.js'
import { entries } from '../core/pipelines/entries.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { listOf, readList, unmatchedIn, valuesOf } from '../core/read/list.js'
import { linkHeader, pageMetadata } from '../core/read/page.js'
import { projectionOf } from '../core/read/projection.js'
import { jsonArray } from '../core/write/json.js'
import { compileDocuments } from '../core/write/writer.js'

const LIST =
  'A page of the records that match every given filter, in the order of `sortBy` and `sortOrder`. To read a whole list, begin with `cursor=*`: such pages cost the same however deep they are, while the pages of a number cost more the higher it is.'
const RECORD = 'An id that another organisation has gets the same response as one that nobody has.'

const listRoute = (resource: Resource, limits: PageLimits): Route => {
  const { collection, tag, operationIds, descriptions, item } = resource
  return {
    path: `/${collection}`,
    operationId: operationIds.list,
    summary: `Get ${collection}`,
    description: `${descriptions.list}\n\n${LIST}`,
    tag: tag.name,
    query: resource.query(limits),
    response: page(item.schema),
    problems: [...problemsOn(collection), 'invalid_cursor', 'response_too_large'],
    headers: linked,
    async operation(reader, asked: Asked<Listing>) {
      const { query } = asked
      const { page, total, selection, tokens } = await readList(reader, resource, query)
      const { rows } = page
      const isEmpty = rows.length === 0 && page.previous === undefined && tokens.start === undefined
      const unmatched = isEmpty ? await unmatchedIn(reader, selection) : []
      const links = pageMetadata(asked, query, page, total, tokens)
      const metadata = { ...links, ...(unmatched.length > 0 && { unmatched }) }
      const format = jsonArray(selection.projection.compiled(compileDocuments))
      const answer = pageAnswer(rows, format, metadata, query.unreadable)
      return { ...answer, tag: { documents: rows, values: metadata }, link: linkHeader(metadata) }
    },
  }
}

const recordRoute = (resource: Resource): Route => {
  const { collection, name, article, tag, operationIds, descriptions, parameters = {}, record } = resource
  return {
    path: `/${collection}/:id`,
    operationId: operationIds.get,
    summary: `Get ${article} ${name} by its id`,
    description: `${descriptions.get}\n\n${RECORD}`,
    tag: tag.name,
    params: IdParams(name),
    query: strict(parameters),
    response: one(record.schema),
    problems: [...problemsOn(collection), 'not_found', 'response_too_large'],
    headers: tagged,
    async operation(reader, { params, query }: Asked<Pick<Listing, 'answers'>>) {
      const projection = projectionOf(resource, reader.scope.without, query, 'record')
      const document = await reader.record(resource, params.id as string, projection)
      return {
        rows: [document],
        format: { write: projection.compiled(compileDocuments) },
        envelope: { before: { success: true }, name: 'data', after: () => ({}) },
        tag: { documents: [document], values: Object.keys(query).length > 0 ? query : undefined },
      }
    },
  }
}

const tools: Capability['tools'] = {
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

export const lists: Capability = {
  tags: Object.values(resources).map(({ tag }) => tag),
  routes({ config: { maxPerPage, projectDefaults } }) {
    const usual = { page: 1, perPage: 50, maxPerPage }
    // The contract states the defaults of projects the other way round.
    const literal = { page: 50, perPage: 1, maxPerPage }
    const limitsOf = (resource: unknown) =>
      resource === resources.projects && projectDefaults === 'literal' ? literal : usual
    return Object.values(resources).flatMap((each) => [listRoute(each, limitsOf(each)), recordRoute(each)])
  },
  tools,
}
