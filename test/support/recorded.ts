// The responses that the OpenAPI document shows as examples, as the service sends them with the demo data.
import type { FastifyInstance } from 'fastify'
import { exampleIds } from '../../schemas/common.js'
import { buildApp } from '../../src/app.js'
import { BsonList, bsonDocument } from '../../src/core/bson/reader.js'
import { recordCollections } from '../../src/core/documents/collections.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { Overloaded } from '../../src/core/limits/scheduler.js'
import { resources } from '../../src/core/pipelines/index.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { ResponseTooLarge, UnreadableDocument } from '../../src/core/write/errors.js'
import { loadDemo } from '../../src/demo.js'
import { encodeCursor, START } from '../../src/sync/cursor.js'
import { listen, testConfig } from './app.js'
import { getRequest, LAST, send } from './sockets.js'

/** The day on which the examples are made. The demo data end before it. */
const NOW = new Date('2025-07-01T00:00:00.000Z')
const HOST = '127.0.0.1:3000'
const REQUEST_ID = '0b9df1c4-6a7e-4c39-8c71-7f6b6a0c4e52'

/** The bodies of responses: those of successful ones by their operation, those of errors by their code. */
export interface Recorded {
  responses: Record<string, unknown>
  problems: Record<string, unknown>
}

/** Asks for every operation and for every error that an operation can have. */
export const recordExamples = async (): Promise<Recorded> => {
  let now = NOW
  const demo = embeddedStore({ now: () => now })
  const [demoKey] = await loadDemo(demo)
  const { key, organisation } = demoKey as NonNullable<typeof demoKey>
  /** What the database does next. */
  let aggregate: Store['aggregate'] = demo.aggregate
  const store: Store = { ...demo, aggregate: (...query) => aggregate(...query) }
  const app = await buildApp(testConfig(), store)
  try {
    const headers = { host: HOST, authorization: `Bearer ${key}`, 'x-request-id': REQUEST_ID }
    const ask = async (url: string, changed: Record<string, string> = {}): Promise<unknown> => {
      const { authorization, ...others } = { ...headers, ...changed }
      return (await app.inject({ url, headers: { ...others, ...(authorization && { authorization }) } })).json()
    }

    const failing = async (
      result: Error | ((list: BsonList) => BsonList),
      url = '/v1/entries?perPage=1',
    ): Promise<unknown> => {
      aggregate = async (...query) => {
        if (result instanceof Error) throw result
        return result(await demo.aggregate(...query))
      }
      const body = await ask(url)
      aggregate = demo.aggregate
      return body
    }
    const limited = await buildApp(testConfig({ RATE_LIMIT: '1' }), demo)
    const [, rate_limited] = [0, 1].map(() => limited.inject({ url: '/v1/me', headers }))
    const binding = [organisation._id, 'syncEntries', 'changedAt']
    const problems = {
      invalid_parameter: await ask('/v1/entries?sortOrder=up'),
      invalid_cursor: await ask('/v1/entries?cursor=AQ'),
      bad_request: await ask('/v1/entries?status=%'),
      unauthorized: await ask('/v1/entries', { authorization: '' }),
      not_in_scope: await ask('/v1/agents', { authorization: `Bearer ${await narrower(demo, organisation._id)}` }),
      not_found: await ask('/v1/entries/65850cb40000050000000000'),
      not_acceptable: await ask('/v1/entries', { accept: 'text/html' }),
      cursor_expired: await ask(
        `/v1/sync/entries?cursor=${encodeCursor(binding, { since: 0, isSettledOnly: false, settled: START, fresh: null })}`,
      ),
      uri_too_long: await ask(`/v1/entries?ids=${'x'.repeat(8000)}`),
      rate_limited: (await rate_limited)?.json(),
      header_fields_too_large: await ask('/v1/entries', { accept: 'x'.repeat(2000) }),
      records_without_stamp: await failing(
        ({ collection }) => new BsonList(collection, [bsonDocument([])]),
        '/v1/sync/entries?changedSince=1970-01-01T00:00:00Z',
      ),
      response_too_large: await failing(new ResponseTooLarge()),
      internal_error: await failing(
        new UnreadableDocument('entries', '65850cb40000050000000000', 'answers', 'is BSON string, not an array'),
      ),
      overloaded: await failing(new Overloaded()),
      service_unavailable: await failing(new StoreUnavailable(new Error('down'))),
      query_timeout: await failing(new QueryTimeout(new Error('slow'))),
    }
    const responses: Record<string, unknown> = {}
    for (const [operationId, path] of pathsOf(app)) {
      responses[operationId] = withoutChance(await ask(await requestOf(path, ask)))
    }
    // In each feed, after a copy was complete, a record is changed, another one is deleted, and one gets a value that cannot
    // be sent.
    const feeds = await buildApp(testConfig({ SYNC_SETTLE_MS: '0' }), store)
    const tick = () => {
      now = new Date(now.getTime() + 60_000)
    }
    for (const collection of recordCollections) {
      tick()
      const url = (cursor: string) => `/v1/sync/${collection}?perPage=1000&cursor=${cursor}`
      const askFeed = async (cursor: string) => (await feeds.inject({ url: url(cursor), headers })).json()
      let page = await askFeed('*')
      while (page._metadata.hasMore) page = await askFeed(page._metadata.nextCursor)
      const [first, second, third] = await demo.dangerouslyFindAll(collection, { organisation: organisation._id }, 3)
      tick()
      await demo.upsert(collection, [first] as never)
      tick()
      await demo.remove(collection, organisation._id, [second?._id as string])
      tick()
      await demo.upsert(collection, [{ ...third, createdAt: '2025-07-01' }] as never)
      tick()
      responses[resources[collection].operationIds.sync] = await askFeed(page._metadata.nextCursor)
      // The record is mended, because other feeds embed it.
      await demo.upsert(collection, [third] as never)
    }
    await feeds.close()
    await limited.close()
    // Only a socket can speak another version of HTTP.
    const text = await send(await listen(app), getRequest('/v1/entries', { ...LAST, ...headers }).replace('1.1', '2.0'))
    const http_version_not_supported = JSON.parse(text.slice(text.indexOf('\r\n\r\n')))
    return { responses, problems: { ...problems, http_version_not_supported } }
  } finally {
    await app.close()
  }
}

/** A key for a project. */
const narrower = (store: Store, organisation: string) =>
  keysOf(store, () => {}).issue({ organisation, name: 'A project', only: { project: [exampleIds.project] } })

/** The operations with their paths. */
const pathsOf = (app: FastifyInstance): [string, string][] =>
  Object.entries(app.swagger().paths ?? {}).flatMap(([path, item]): [string, string][] =>
    // A file has no example.
    /\{format\}$|\.csv$/.test(path) ? [] : [[item?.get?.operationId as string, path]],
  )

/** A response without the time when it was made. Of a description of operations, it has what stands before them. */
const withoutChance = (body: unknown): unknown => {
  const { timeStamp, openapi, info, ...rest } = JSON.parse(
    JSON.stringify(body, (name, value) => (name === 'asOf' ? NOW.toISOString() : value)),
  ) as { timeStamp?: string; openapi?: string; info?: object }
  if (openapi !== undefined) return { openapi, info, paths: {} }
  return timeStamp === undefined ? rest : { ...rest, timeStamp: NOW.toISOString() }
}

/** The request that gives the example of a path: the first record, or a page with one. */
const requestOf = async (path: string, ask: (url: string) => Promise<unknown>): Promise<string> => {
  if (path.endsWith('/items')) return `${path}?limit=1`
  if (path.endsWith('/items/{id}')) {
    const { features } = (await ask(path.replace('/{id}', '?limit=1'))) as { features: { id: string }[] }
    return path.replace('{id}', String(features[0]?.id))
  }
  if (path.includes('/summaries/')) return `${path}?by=status,createdAt:month&top=2`
  if (!path.includes('{id}')) return /health|digest|me$|\/ogc/.test(path) ? path : `${path}?perPage=1`
  const { data } = (await ask(path.replace(/\/\{id\}.*/, '?perPage=1'))) as { data: { id: string }[] }
  return path.replace('{id}', String(data[0]?.id))
}

/** The text of openapi.yaml: the document of a service whose settings are the defaults. */
export const openapiFile = async (): Promise<string> => {
  const app = await buildApp(testConfig(), embeddedStore())
  await app.ready()
  const text = app.swagger({ yaml: true })
  await app.close()
  return text
}
