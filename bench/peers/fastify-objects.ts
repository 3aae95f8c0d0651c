// Peer: Fastify as it is usually written. The driver returns objects, and fast-json-stringify turns them into JSON by a
// TypeBox response schema. The pipelines are this service's own.
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { type Document, MongoClient } from 'mongodb'
import { IdParams } from '../../schemas/common.js'
import { Entry, EntryListItem, EntryListQuery } from '../../schemas/entries.js'
import { one, page } from '../../schemas/envelope.js'
import { namedSchemas } from '../../schemas/index.js'
import { entries as entryResource } from '../../src/core/pipelines/entries.js'
import type { Query } from '../../src/core/pipelines/stages.js'
import { listQuery, recordQuery } from '../../test/support/queries.js'
import { pageLimits } from '../requests.js'
import { mongodbUri, organisation, port } from './environment.js'

const db = (await MongoClient.connect(mongodbUri())).db()
const entries = db.collection('entries')
const scope = { organisation: organisation() }

const read = (query: Query) => entries.aggregate([{ $match: query.match }, ...query.stages]).toArray()
const withId = ({ _id, ...fields }: Document) => ({ id: _id, ...fields })

/** The item without `expand`: a union would make fast-json-stringify much slower. */
const id = Type.Optional(Type.String())
const item = Type.Object(
  { ...EntryListItem.properties, dispatch: id, form: id, project: id, agent: id },
  { $id: 'Item' },
)

// `explode` tells OpenAPI how several values are written. Some formats are this service's own, and Ajv refuses the schema of
// a format that it does not know, if it is to validate formats. The requests of the benchmark have none.
const app = Fastify({ ajv: { customOptions: { keywords: ['explode'], validateFormats: false } } })
app.addSchema(item)
for (const schema of namedSchemas.values()) app.addSchema(schema)

app.get<{ Querystring: EntryListQuery }>(
  '/v1/entries',
  { schema: { querystring: EntryListQuery(pageLimits), response: { 200: page(item) } } },
  async (request) => {
    const query = listQuery(entryResource, scope, request.query)
    const [found, total] = await Promise.all([read(query), entries.countDocuments(query.match)])
    const { page, perPage } = request.query
    const pageCount = Math.ceil(total / perPage)
    const link = (page: number) => `http://${request.host}/v1/entries?page=${page}&perPage=${perPage}`
    const pageLinks = { current: link(page), next: link(page + 1), previous: link(page - 1) }
    return {
      success: true,
      data: found.map(withId),
      _metadata: { total, perPage, pageCount, hasMore: page < pageCount, pageLinks },
    }
  },
)

app.get<{ Params: { id: string } }>(
  '/v1/entries/:id',
  { schema: { params: IdParams('entry'), response: { 200: one(Entry) } } },
  async (request, reply) => {
    const [entry] = await read(recordQuery(entryResource, scope, request.params.id))
    if (entry === undefined) return reply.code(404).send()
    const { dispatch, form, project, agent, ...rest } = withId(entry) as Document
    const data = {
      ...rest,
      dispatch: dispatch && withId(dispatch),
      form: form && withId(form),
      project: project && withId(project),
      agent: agent && withId(agent),
    }
    return { success: true, data }
  },
)

await app.listen({ port, host: '127.0.0.1' })
