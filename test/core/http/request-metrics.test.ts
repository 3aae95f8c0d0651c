// What is measured of requests, through the whole application.
import { once } from 'node:events'
import { setImmediate, setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeKey } from '../../../src/core/keys/format.js'
import { REFUSALS } from '../../../src/core/keys/keys.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { listen, testApp } from '../../support/app.js'
import { callOf, post } from '../../support/mcp.js'
import { getRequest, LAST, neverRead, send } from '../../support/sockets.js'
import { A, fillTenants } from '../../support/tenants.js'
import { leftToGate } from '../../support/thorough.js'

const service = async (t: Test, store = embeddedStore()) => {
  const tested = await testApp(t, { store, fill: fillTenants, settings: { METRICS_PORT: '0' } })
  /** The lines of a metric, without its buckets. */
  const lines = async (name: string): Promise<string[]> =>
    `${await tested.app.metrics?.text()}`
      .split('\n')
      .filter((line) => line.startsWith(name) && !line.includes('_bucket') && !line.includes('_sum'))
  return { ...tested, lines }
}

t.test('without METRICS_PORT nothing is measured', async (t) => {
  const { app } = await testApp(t)
  t.equal(app.metrics, undefined)
})

t.test(
  'a request counts with its method, its pattern, its status and its problem, and nothing of its own',
  async (t) => {
    const { app, get, lines } = await service(t)
    await get('/v1/entries/entry1-a', A)
    await get('/v1/entries/secret', A)
    await get('/v1/entries/secret')
    await get('/secret/path')
    await get('/v1/entries/%zz', A)
    await app.inject({ method: 'DELETE', url: '/v1/entries' })
    await app.inject({ method: 'PURGE' as 'GET', url: '/v1/entries' })
    t.same(await lines('http_server_request_duration_seconds'), [
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/v1/entries/:id",http_response_status_code="200"} 1',
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/v1/entries/:id",http_response_status_code="404",error_type="not_found"} 1',
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/v1/entries/:id",http_response_status_code="401",error_type="unauthorized"} 1',
      'http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="404",error_type="route_not_found"} 1',
      'http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="400",error_type="bad_request"} 1',
      'http_server_request_duration_seconds_count{http_request_method="DELETE",http_response_status_code="405",error_type="method_not_allowed"} 1',
      'http_server_request_duration_seconds_count{http_request_method="_OTHER",http_response_status_code="405",error_type="method_not_allowed"} 1',
    ])
  },
)

t.test('a call of an assistant counts with its tool, and with its problem if it has one', async (t) => {
  const { app, keyOf, lines } = await service(t)
  const headers = { authorization: `Bearer ${await keyOf(A)}` }
  for (const id of ['entry1-a', 'secret']) await post(app, callOf('get_entry', { id }), headers)
  await post(app, callOf('secret'), headers)
  const of = (labels: string) =>
    `http_server_request_duration_seconds_count{http_request_method="POST",http_route="/mcp"${labels}} 1`
  t.same(await lines('http_server_request_duration_seconds'), [
    of(',gen_ai_tool_name="get_entry",http_response_status_code="200"'),
    of(',gen_ai_tool_name="get_entry",http_response_status_code="200",error_type="not_found"'),
    of(',http_response_status_code="200"'),
  ])
})

t.test('connections count while they are open, and those that are refused', async (t) => {
  const { app, lines } = await service(t)
  app.server.maxConnections = 2
  const port = await listen(app)
  t.same(await lines('field_data_connections'), [
    'field_data_connections_refused_total 0',
    'field_data_connections_open 0',
  ])
  const refused = once(app.server, 'drop')
  const sockets = await Promise.all(['', '', ''].map((text) => neverRead(port, text)))
  await refused
  t.same(await lines('field_data_connections'), [
    'field_data_connections_refused_total 1',
    'field_data_connections_open 2',
  ])
  for (const socket of sockets) socket.destroy()
  while ((await lines('field_data_connections_open')).join() !== 'field_data_connections_open 0') await setTimeout(5)
})

t.test('a body counts with its size, and a response without one does not', async (t) => {
  const { app, keyOf, lines } = await service(t)
  const authorization = `Bearer ${await keyOf(A)}`
  const first = await app.inject({ url: '/v1/entries', headers: { authorization } })
  const headers = { authorization, 'if-none-match': String(first.headers.etag) }
  t.equal((await app.inject({ url: '/v1/entries', headers })).statusCode, 304)
  await app.inject({ method: 'HEAD', url: '/v1/entries', headers: { authorization } })
  const size = `http_server_response_body_size_bytes_sum{http_route="/v1/entries"} ${first.rawPayload.length}\n`
  t.ok((await app.metrics?.text())?.includes(size))
  t.same(await lines('http_server_response_body_size_bytes_count{http_route="/v1/entries"}'), [
    'http_server_response_body_size_bytes_count{http_route="/v1/entries"} 1',
  ])
  const port = await listen(app)
  const received = await send(port, getRequest('/v1/exports/entries.csv', { ...LAST, authorization }))
  const streamed = `http_server_response_body_size_bytes_sum{http_route="/v1/exports/entries.:format"} ${Buffer.byteLength(received)}\n`
  t.ok((await app.metrics?.text())?.includes(streamed))
})

t.test('a request whose caller has left is aborted, and keeps its place until its query has ended', async (t) => {
  const inner = embeddedStore()
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const aggregate: typeof inner.aggregate = async (...args) => {
    await held
    return inner.aggregate(...args)
  }
  const { app, get, keyOf, lines } = await service(t, { ...inner, capacity: 2, aggregate })
  const port = await listen(app)
  const seen = once(app.server, 'request')
  const socket = await neverRead(port, getRequest('/v1/entries/x', { authorization: `Bearer ${await keyOf(A)}` }))
  await seen
  const running = async () => (await lines('field_data_queue_running{size="small"}')).join()
  while (!(await running()).endsWith(' 1')) await setImmediate()
  t.same(await lines('http_server_active_requests '), ['http_server_active_requests 1'])
  socket.destroy()
  while ((await lines('http_server_active_requests ')).join() !== 'http_server_active_requests 0') await setImmediate()
  t.same(await lines('http_server_request_duration_seconds'), [
    'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/v1/entries/:id",error_type="aborted"} 1',
  ])
  t.ok((await running()).endsWith(' 1'), 'its query goes on')
  const other = get('/v1/entries/x', A)
  while ((await lines('field_data_queue_waiting{size="small"}')).join().endsWith(' 0')) await setImmediate()
  release()
  await other
  t.same(await lines('field_data_queue_wait_seconds'), ['field_data_queue_wait_seconds_count{size="small"} 1'])
  while (!(await running()).endsWith(' 0')) await setImmediate()
})

t.test('what waits, runs and is not read is counted while it does', { skip: leftToGate }, async (t) => {
  const inner = embeddedStore()
  let held: Promise<void> | undefined
  const aggregate: typeof inner.aggregate = async (...args) => {
    await held
    return inner.aggregate(...args)
  }
  const { app, get, keyOf, store, lines } = await service(t, { ...inner, aggregate })
  const port = await listen(app)
  const authorization = `Bearer ${await keyOf(A)}`
  const ask = async (path: string) => {
    const socket = await neverRead(port, getRequest(path, { authorization }))
    t.teardown(() => socket.destroy())
  }
  const until = async (line: RegExp) => {
    while (!line.test((await lines('field_data')).join('\n'))) await setTimeout(5)
    t.pass(String(line))
  }
  const { nextCursor } = (await get('/v1/sync/forms', A)).json()._metadata
  await ask(`/v1/sync/forms?wait=60&cursor=${nextCursor}`)
  await until(/^field_data_feed_waiting 1$/m)

  const [form] = await inner.dangerouslyFindAll('forms', { organisation: A }, 1)
  const forms = Array.from({ length: 50 }, (_, n) => ({ ...form, _id: `large${n}`, name: 'x'.repeat(400_000) }))
  await store.insert('forms', forms as never)
  await ask('/v1/forms?perPage=50')
  await until(/^field_data_response_memory_ratio 0\.\d+$/m)

  let release = () => {}
  held = new Promise((resolve) => (release = resolve))
  await ask('/v1/exports/entries.csv')
  await until(/^field_data_exports_running 1$/m)
  release()
  await until(/^field_data_exports_running 0$/m)
})

t.test('refused keys and exports are counted', async (t) => {
  const { app, get, lines } = await service(t)
  const refused = async () =>
    Object.fromEntries((await lines('field_data_keys_refused_total')).map((line) => line.split(' ')))
  const of = (reason: string) => `field_data_keys_refused_total{reason="${reason}"}`
  const none = Object.fromEntries(REFUSALS.map((reason) => [of(reason), '0']))
  t.same(await refused(), none)
  await get('/v1/me')
  const unknown = { authorization: `Bearer ${makeKey()}` }
  await get('/v1/me', undefined, { headers: unknown })
  await get('/v1/me', undefined, { headers: unknown })
  t.same(await refused(), { ...none, [of('malformed')]: '1', [of('unknown')]: '2' })
  await get('/v1/exports/entries.csv', A)
  while ((await lines('field_data_exports_running')).join() !== 'field_data_exports_running 0') await setImmediate()
  t.same(await lines('field_data_feed_waiting'), ['field_data_feed_waiting 0'])
  t.notMatch(await app.metrics?.text(), 'secret')
})
