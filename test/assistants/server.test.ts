// What the protocol says of the tools, and that whatever an assistant gives to one of them, it learns what to mend.
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { keysOf } from '../../src/core/keys/keys.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { COUNTS } from '../../src/counts/index.js'
import { listen, testApp } from '../support/app.js'
import { assistant, callOf, errorOf, MCP_HEADERS, messageOf, post, REVISIONS } from '../support/mcp.js'
import { testStore } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

const serve = async (t: Test, changed: (store: Store) => Partial<Store> = () => ({})) => {
  const store = testStore(t)
  await fillTenants(store)
  const { app, keyOf } = await testApp(t, { store: { ...store, ...changed(store) } })
  return { app, keyOf, key: await keyOf(A) }
}

const prepare = async (t: Test, changed?: (store: Store) => Partial<Store>) => {
  const served = await serve(t, changed)
  return { ...served, ...(await assistant(t, served.app, served.key)) }
}

/** The service of the tests that only read. */
const reading = serve(t)
const reader = async (t: Test) => {
  const { app, key } = await reading
  return { app, key, ...(await assistant(t, app, key)) }
}

for (const revision of ['modern', 'legacy'] as const) {
  t.test(`clients of ${REVISIONS[revision]} see seven tools that only read`, async (t) => {
    const { app, key } = await reading
    const { client, ask } = await assistant(t, app, key, revision)
    t.equal(client.getNegotiatedProtocolVersion(), REVISIONS[revision])
    t.match(client.getInstructions(), /never instructions\.$/)
    const { tools } = await client.listTools()
    t.same(
      tools.map(({ name }) => name),
      ['find_entries', 'get_entry', 'export_link', 'describe', 'describe_form', 'count_entries', 'check_entries'],
    )
    const { length } = JSON.stringify(tools)
    t.ok(length <= 8192, `they take ${length} characters, and may take 8192: an assistant reads all of them`)
    for (const { name, annotations, outputSchema, inputSchema, description } of tools) {
      t.match([annotations?.readOnlyHint, outputSchema?.type], [true, 'object'], name)
      t.notMatch(JSON.stringify(inputSchema), /additionalProperties/, 'some clients do not know it')
      for (const property of Object.values((outputSchema?.properties ?? {}) as Record<string, Record<string, unknown>>))
        t.ok(property.type !== 'array' || property.items, `${name} ${JSON.stringify(property)}`)
      for (const [argument, { type, description }] of Object.entries(inputSchema.properties ?? {}) as [string, never][])
        t.ok(type && String(description).endsWith('.'), `${name} ${argument}: ${description}`)
      t.match(description, /\.$/)
    }
    const counting = tools.find(({ name }) => name === 'count_entries')
    t.ok(COUNTS.startsWith(String(counting?.description).slice(0, 40)), 'descriptions are those of the operations')
    t.match(await ask('describe'), { organisation: { id: A }, entries: { total: 4 } })
    t.same(client.getServerCapabilities()?.tools, { listChanged: false })
  })
}

t.test('there is nothing to subscribe to, and no other tool', async (t) => {
  const { app, key, call } = await reader(t)
  await t.rejects(call('drop_entries'), { code: -32602 })
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISIONS.modern,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const listening = messageOf('subscriptions/listen', { _meta: meta, notifications: { toolsListChanged: true } })
  const headers = { 'mcp-protocol-version': REVISIONS.modern, 'mcp-method': 'subscriptions/listen' }
  const { statusCode, json } = await post(app, listening, { authorization: `Bearer ${key}`, ...headers })
  t.match([statusCode, json()], [200, { error: { message: 'Subscription limit reached' } }])
})

/** Arguments that are wrong, with the name that the error has. */
const wrong: readonly (readonly [string, object, string])[] = [
  ['describe', { form: 'x' }, 'form'],
  ['describe', { constructor: 1 }, 'constructor'],
  ['describe_form', {}, 'form'],
  ['describe_form', { form: '' }, 'form'],
  ['describe_form', { form: null }, 'form'],
  ['describe_form', { form: ['a', 'b'] }, 'form'],
  ['describe_form', { form: 'no such form' }, 'form'],
  ['describe_form', { form: a.form._id, question: '' }, 'question'],
  ['describe_form', { form: a.form._id, question: 'camels' }, 'question'],
  ['count_entries', { by: [] }, 'by'],
  ['count_entries', { by: Array(400).fill('status') }, 'by'],
  ['count_entries', { by: 'status,'.repeat(1000) }, 'by'],
  ['count_entries', { by: [...Array(50).fill('status'), {}] }, 'by'],
  ['count_entries', { by: 'nothing' }, 'by'],
  ['count_entries', { by: ['status', 'status'] }, 'by'],
  ['count_entries', { by: ['status', 'form', 'agent'] }, 'by'],
  ['count_entries', { by: [['status']] }, 'by'],
  ['count_entries', { by: { status: 1 } }, 'by'],
  ['count_entries', { by: ['0123456789ab'], form: a.form._id }, 'by'],
  ['count_entries', { by: ['0123456789ab'] }, 'by'],
  ['count_entries', { by: ['status'], top: 0 }, 'top'],
  ['count_entries', { by: ['status'], top: 1.5 }, 'top'],
  ['count_entries', { by: ['status'], top: 10_001 }, 'top'],
  ['count_entries', { by: ['createdAt:day'], zone: 'Mars/Olympus' }, 'zone'],
  ['count_entries', { by: ['form'], names: 'yes' }, 'names'],
  ['count_entries', { by: ['form'], measure: 'weight' }, 'measure'],
  ['count_entries', { by: ['status'], answered: ['0123456789ab'] }, 'answered'],
  ['find_entries', { limit: 101 }, 'limit'],
  ['find_entries', { limit: -1 }, 'limit'],
  ['find_entries', { limit: 'all' }, 'limit'],
  ['find_entries', { limit: [1, 2] }, 'limit'],
  ['find_entries', { limit: true }, 'limit'],
  ['find_entries', { perPage: 5 }, 'perPage'],
  ['find_entries', { fields: ['secret'] }, 'fields'],
  ['find_entries', { fields: '' }, 'fields'],
  ['find_entries', { form: { $ne: '' } }, 'form'],
  ['find_entries', { status: 'accepted,rejected' }, 'status'],
  ['find_entries', { createdSince: 'yesterday' }, 'createdSince'],
  ['find_entries', { createdSince: '2025-01-01', zone: 'Mars/Olympus' }, 'zone'],
  ['find_entries', { createdBefore: '2025-02-29' }, 'createdBefore'],
  ['find_entries', { createdBefore: '2025-01-01T00:00:00' }, 'createdBefore'],
  ['find_entries', { createdSince: '2025-01-01', createdBefore: '2025-01-01' }, 'createdBefore'],
  [
    'export_link',
    { format: 'csv', updatedSince: '2025-01-02', updatedBefore: '2025-01-01T23:00:00Z' },
    'updatedBefore',
  ],
  ['find_entries', { updatedSince: 5 }, 'updatedSince'],
  ['find_entries', { updatedBefore: false }, 'updatedBefore'],
  ['find_entries', { bbox: '1,2,3' }, 'bbox'],
  ['find_entries', { bbox: [1, 91, 3, 4] }, 'bbox'],
  ['find_entries', { answered: ['x'], form: a.form._id }, 'answered'],
  ['find_entries', { answered: Array(5).fill('0123456789ab'), form: a.form._id }, 'answered'],
  ['find_entries', { country: '' }, 'country'],
  ['find_entries', { organisation: 'org-b' }, 'organisation'],
  ['find_entries', { state: 'x'.repeat(8001) }, 'state'],
  ['get_entry', {}, 'id'],
  ['get_entry', { id: '' }, 'id'],
  ['get_entry', { id: ['a', 'b'] }, 'id'],
  ['export_link', {}, 'format'],
  ['export_link', { format: 'pdf' }, 'format'],
  ['export_link', { format: 'csv', form: 'no such form' }, 'form'],
  ['export_link', { format: 'csv', answered: ['0123456789ab'] }, 'answered'],
]

t.test('a wrong argument is an error of the tool that names it', async (t) => {
  const { call } = await reader(t)
  for (const [tool, given, name] of wrong) {
    const { error, code, errors } = errorOf(await call(tool, given))
    t.match([code, errors?.[0]?.name], ['invalid_parameter', name], `${tool} ${JSON.stringify(given)}: ${error}`)
    t.ok(error.startsWith(`${name} `) && !/undefined|\bat .*:\d+|URL|%/.test(error), error)
  }
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`unknown${n}`, n]))
  t.ok((errorOf(await call('describe', many)).errors ?? []).length <= 10)
})

t.test('what is not given may be null, and a list may be a text', async (t) => {
  const { app, key, ask } = await reader(t)
  const nothing = messageOf('tools/call', { name: 'describe', arguments: null })
  const { statusCode, json } = await post(app, nothing, { authorization: `Bearer ${key}` })
  t.match([statusCode, json()], [200, { result: { structuredContent: { organisation: { id: A } } } }])
  const counted = await ask('count_entries', { by: 'status', form: null, top: '1', names: true })
  t.match(counted, { total: 4, groups: 2, others: { groups: 1, count: 1 }, rows: [{ status: 'accepted', count: 3 }] })
  t.match(await ask('find_entries', { bbox: [8, 11, 9, 12], limit: '2', fields: 'id' }), {
    total: 4,
    rows: [['entry2-a'], ['entry9-a']],
  })
})

t.test('a record that is not there or of another organisation is not found', async (t) => {
  const { call } = await reader(t)
  const [unknown, foreign] = [await call('get_entry', { id: 'nothing' }), await call('get_entry', { id: 'entry1-b' })]
  t.same(unknown, foreign)
  t.match(errorOf(unknown), { code: 'not_found', error: 'No entry has this id' })
})

t.test('what the service cannot do is an error of the tool, and nothing of its inside is shown', async (t) => {
  const calls = (
    ['describe', 'describe_form', 'count_entries', 'find_entries', 'get_entry', 'export_link'] as const
  ).map(
    (name) =>
      [
        name,
        {
          describe_form: { form: a.form._id },
          count_entries: { by: 'status' },
          get_entry: { id: 'x' },
          export_link: { format: 'csv' },
        }[name as string],
      ] as const,
  )
  let failure: Error | undefined
  const { call } = await prepare(t, (store) => ({
    aggregate: async (...query) => {
      if (failure && query[0].collection !== 'apiKeys' && query[0].collection !== 'organisations') throw failure
      return store.aggregate(...query)
    },
  }))
  // What takes too long is kept for a moment, so it comes last.
  for (const [error, code] of [
    [new Error('secret of /src/file.ts:1:2'), 'internal_error'],
    [new StoreUnavailable(new Error('mongodb://secret')), 'service_unavailable'],
    [new QueryTimeout('secret'), 'query_timeout'],
  ] as const) {
    failure = error
    for (const [name, given] of calls) {
      const found = await call(name, given)
      t.match(errorOf(found), { code, error: /\w/ }, name)
      t.notMatch(JSON.stringify(found), /secret/)
    }
  }
})

t.test('a call keeps its place until its work has ended, also when its caller has left', async (t) => {
  const go = new EventEmitter()
  let [begun, isHeld] = [0, false]
  const { app, key, ask } = await prepare(t, (store) => ({
    capacity: 1,
    async aggregate(...query) {
      if (isHeld && query[0].collection === 'entries') {
        begun += 1
        await once(go, 'end')
      }
      return store.aggregate(...query)
    },
  }))
  const port = await listen(app)
  const body = JSON.stringify(callOf('get_entry', { id: a.entry(1)._id }))
  const headers = { ...MCP_HEADERS, host: 'localhost', authorization: `Bearer ${key}`, 'content-length': body.length }
  isHeld = true
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /mcp HTTP/1.1\r\n${Object.entries(headers)
      .map((pair) => `${pair.join(': ')}\r\n`)
      .join('')}\r\n${body}`,
  )
  while (begun === 0) await setTimeout(5)
  socket.destroy()
  const connections = promisify(app.server.getConnections.bind(app.server))
  while ((await connections()) > 0) await setTimeout(5)
  const next = ask('get_entry', { id: a.entry(2)._id })
  await setTimeout(100)
  t.equal(begun, 1, 'the place of the first call is taken, so that the next one waits')
  isHeld = false
  go.emit('end')
  t.match(await next, { entry: { id: a.entry(2)._id } })
})

t.test('a call for a form is no large task where its count is kept', async (t) => {
  const go = new EventEmitter()
  let [isHeld, begun] = [false, 0]
  const { app, key, ask } = await prepare(t, (store) => ({
    async aggregate(...query) {
      if (isHeld && JSON.stringify(query[0].stages).includes('"$limit":101')) {
        begun += 1
        await once(go, 'end')
      }
      return store.aggregate(...query)
    },
  }))
  const given = { by: 'status', form: a.form._id }
  t.match(await ask('count_entries', given), { total: 3 })
  isHeld = true
  const url = '/v1/agents?perPage=100'
  const large = Promise.resolve(app.inject({ url, headers: { authorization: `Bearer ${key}` } }))
  while (begun === 0) await setTimeout(5)
  t.match(await ask('count_entries', given), { total: 3 }, 'it does not wait for the large task of its key')
  go.emit('end')
  t.equal((await large).statusCode, 200)
})

t.test('a flood of calls by one key leaves room for others, as that of any operation does', async (t) => {
  const go = new EventEmitter().setMaxListeners(0)
  let [begun, isHeld] = [0, false]
  const { app, keyOf } = await serve(t, (store) => ({
    capacity: 64,
    async aggregate(...query) {
      if (isHeld && query[0].collection === 'entries' && JSON.stringify(query[0].match).includes(A)) {
        begun += 1
        await once(go, 'end')
      }
      return store.aggregate(...query)
    },
  }))
  const flooding = { authorization: `Bearer ${await keyOf(A)}` }
  const { ask } = await assistant(t, app, await keyOf(B))
  isHeld = true
  const flood = Array.from({ length: 60 }, () => post(app, callOf('get_entry', { id: 'entry1-a' }), flooding))
  while (begun < 16) await setTimeout(5)
  t.match(await ask('get_entry', { id: 'entry1-b' }), { entry: { id: 'entry1-b' } })
  t.match(await ask('find_entries', { limit: 100 }), { total: 1 })
  t.equal(begun, 16, 'no more of them run at once')
  isHeld = false
  go.emit('end')
  for (const { statusCode, body } of await Promise.all(flood)) t.ok(statusCode === 200 || /overloaded/.test(body))
})

t.test('a key that ends while a tool works gets no result', async (t) => {
  const end = Date.now() + 1500
  const { app } = await prepare(t, ({ aggregate }) => ({
    aggregate: async (...query) => {
      if (query[0].collection === 'entries') while (Date.now() <= end) await setTimeout(20)
      return aggregate(...query)
    },
  }))
  const issued = { organisation: A, name: 'Short', expiresAt: new Date(end) }
  const authorization = `Bearer ${await keysOf(app.store, () => {}).issue(issued)}`
  const { statusCode, json } = await post(app, callOf('find_entries'), { authorization })
  t.match([statusCode, json()], [401, { code: 'unauthorized' }])
})
