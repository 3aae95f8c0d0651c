// The operations of the feed and the digest over HTTP: what a partner sends and gets.
import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { keysOf } from '../../src/core/keys/keys.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import type { Store } from '../../src/core/store/store.js'
import { listen, testApp } from '../support/app.js'
import { eachResource } from '../support/resources.js'
import { testStore } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

/** Changes are shown at once, which only a test without late commits may do. */
const settings = { SYNC_SETTLE_MS: '0' }

interface Feed {
  data: Record<string, unknown>[]
  _metadata: { perPage: number; hasMore: boolean; nextCursor: string }
}

const ids = ({ data }: Feed) => data.map(({ id, deleted }) => (deleted === true ? `-${id}` : id))

/**
 * Waits until what was stored has settled. A replica set tells of its last write when that was, in whole seconds, so something
 * is written meanwhile.
 */
const settle = async (store: Store): Promise<void> => {
  const { now } = await store.now()
  for (let n = 0; ; n++) {
    const time = await store.now()
    if (Math.min(time.now, time.majority) > now) return
    await store.insert('seeds', [{ _id: `${now} ${n}`, createdAt: new Date() }])
    await setTimeout(1)
  }
}

t.test('a copy begins at the start, goes on by cursors, and hears of changes and deletions', async (t) => {
  const { get, store } = await testApp(t, { settings, fill: fillTenants })
  await settle(store)
  const feed = async (query: string) => {
    const response = await get(`/v1/sync/entries?${query}`, A)
    t.equal(response.statusCode, 200, query)
    return response.json<Feed>()
  }
  for (const start of ['', '&cursor=*']) {
    const first = await feed(`perPage=3${start}`)
    t.same(ids(first), ['entry1-a', 'entry2-a', 'entry3-a'])
    t.match(first._metadata, { perPage: 3, hasMore: true })
    t.same(Object.keys(first._metadata), ['perPage', 'hasMore', 'nextCursor'])
    const last = await feed(`perPage=3&cursor=${first._metadata.nextCursor}`)
    t.same(ids(last), ['entry9-a'])
    t.match(last._metadata, { hasMore: false, nextCursor: /^[\w-]+$/ })
  }
  const { data, _metadata } = await feed('')
  const unstamped = data.map(({ changedAt, ...item }) => item)
  t.strictSame(unstamped, (await get('/v1/entries', A)).json().data, 'items look as in the list, but for their stamps')
  await store.remove('entries', A, ['entry2-a'])
  await settle(store)
  await store.upsert('entries', [a.entry(1, { status: 'rejected' })])
  await settle(store)
  const changes = await feed(`cursor=${_metadata.nextCursor}`)
  t.same(ids(changes), ['-entry2-a', 'entry1-a'])
  t.same(Object.keys(changes.data[0] ?? {}), ['id', 'deleted', 'deletedAt', 'changedAt'])
  t.equal(changes.data[0]?.changedAt, changes.data[0]?.deletedAt)
  t.ok(Date.parse(String(changes.data[0]?.deletedAt)) <= (await store.now()).now)
  t.match(changes.data[1], { status: 'rejected' })
  const idle = await feed(`cursor=${changes._metadata.nextCursor}`)
  t.same(idle.data, [])
})

t.test('a tool begins with changedSince, goes on by cursors, and keeps the newest changedAt', async (t) => {
  const { get, store } = await testApp(t, { settings, fill: fillTenants })
  await settle(store)
  const feed = async (query: string, perPage = 3) => {
    const response = await get(`/v1/sync/entries?perPage=${perPage}&changedSince=${query}`, A)
    t.equal(response.statusCode, 200, query)
    return response.json<Feed>()
  }
  const first = await feed('1970-01-01T00:00:00Z')
  t.same(ids(first), ['entry1-a', 'entry2-a', 'entry3-a'])
  const last = await feed(`1970-01-01T00:00:00Z&cursor=${first._metadata.nextCursor}`)
  t.same([ids(last), last._metadata.hasMore], [['entry9-a'], false], 'beside a cursor it counts for nothing')
  const state = last.data.at(-1)?.changedAt
  await settle(store)
  await store.remove('entries', A, ['entry2-a'])
  await settle(store)
  const second = await feed(String(state), 10)
  t.same(ids(second), ['entry1-a', 'entry3-a', 'entry9-a', '-entry2-a'], 'the time itself belongs to it')

  t.match((await get('/v1/sync/entries?changedSince=yesterday', A)).json(), {
    code: 'invalid_parameter',
    errors: [{ in: 'query', name: 'changedSince', message: /^must be a time with a time zone/ }],
  })
  t.match((await get('/v1/sync/entries?changedSince=2020-01-01T00:00:00Z', A)).json(), { code: 'cursor_expired' })
  t.match((await get('/v1/sync/entries?changedSince=2020-01-01T00:00:00Z&cursor=x', A)).json(), {
    code: 'invalid_cursor',
  })
})

t.test('a copy that says whose it is takes no key of another organisation', async (t) => {
  const { get } = await testApp(t, { settings, fill: fillTenants })
  const [own, other] = await Promise.all([A, B].map((of) => get(`/v1/sync/entries?organisation=${A}`, of)))
  t.equal(own?.statusCode, 200)
  t.match(other?.json(), {
    code: 'invalid_parameter',
    errors: [{ in: 'query', name: 'organisation', message: `must be ${B}, the organisation of the key` }],
  })
})

t.test('a walk by changedSince through a resource that rests ends with a checkpoint', async (t) => {
  const now = Date.UTC(2026, 0, 1)
  const store = embeddedStore({ now: () => new Date(now) })
  const { get } = await testApp(t, { settings, store })
  const { data } = (await get('/v1/sync/entries?changedSince=1970-01-01T00:00:00Z', A)).json<Feed>()
  const changedAt = '2026-01-01T00:00:00.000Z'
  t.strictSame(data, [{ id: 'checkpoint', deleted: true, deletedAt: changedAt, changedAt }])
  t.same((await get(`/v1/sync/entries?changedSince=${changedAt}`, A)).json<Feed>().data, [])
})

t.test('every resource has a feed and a digest of its own records', async (t) => {
  const { get, store } = await testApp(t, { settings, fill: fillTenants })
  await settle(store)
  for (const [name] of eachResource) {
    const list = (await get(`/v1/${name}`, A)).json<Feed>().data
    const feed = (await get(`/v1/sync/${name}`, A)).json<Feed>().data
    const flat = (await get(`/v1/${name}?embed=false`, A)).json<Feed>().data
    const byId = (x: Record<string, unknown>, y: Record<string, unknown>) => (String(x.id) < String(y.id) ? -1 : 1)
    const unstamped = feed.toSorted(byId).map(({ changedAt, ...item }) => item)
    t.strictSame(unstamped, flat, `${name}: as in the list without embedded records`)
    for (const { changedAt } of feed) t.match(changedAt, /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
    const response = await get(`/v1/sync/${name}/digest`, A)
    const sum = list.reduce((sum, { updatedAt }) => sum + Date.parse(String(updatedAt)), 0)
    t.same(response.json().data, [{ count: list.length, updatedAtSum: String(sum) }], name)
  }
})

t.test('a digest has its ranges and its time', async (t) => {
  const { get, store } = await testApp(t, { settings, fill: fillTenants })
  const before = new Date((await store.now()).now).toISOString()
  const response = await get('/v1/sync/entries/digest?from=entry1-a&to=z&bounds=entry3-a,entry9-a', A)
  const { success, data, _metadata } = response.json()
  t.equal(success, true)
  t.match(data, [
    { from: 'entry1-a', to: 'entry3-a', count: 2 },
    { from: 'entry3-a', to: 'entry9-a', count: 1 },
    { from: 'entry9-a', to: 'z', count: 1 },
  ])
  t.same(Object.keys(data[0]), ['from', 'to', 'count', 'updatedAtSum'])
  t.ok(_metadata.asOf >= before && _metadata.asOf <= new Date((await store.now()).now).toISOString())
  const most = Array.from({ length: 100 }, (_, n) => n + 100).join()
  t.equal((await get(`/v1/sync/entries/digest?bounds=${most}`, A)).json().data.length, 101)
  const idsInOrder = /^must be ids in ascending order/
  const upTo100 = 'must be up to 100 ids that are separated by commas, none of them empty'
  for (const [bounds, message] of [
    ['b,a', idsInOrder],
    ['a,,b', upTo100],
    ['a,', upTo100],
    [',', upTo100],
    [`${most},z`, upTo100],
  ] as const) {
    const wrong = await get(`/v1/sync/entries/digest?bounds=${bounds}`, A)
    t.equal(wrong.statusCode, 400)
    t.match(wrong.json(), { code: 'invalid_parameter', errors: [{ in: 'query', name: 'bounds', message }] }, bounds)
  }
})

t.test('a record that does not fit comes in its place, and one that names it comes with its id', async (t) => {
  const { get, store } = await testApp(t, { settings })
  await store.insert('users', [{ ...a.user, firstName: 5 } as never])
  await store.insert('entries', [a.entry(1), { ...a.entry(2), answers: 5 } as never, a.entry(3)])
  await store.insert('projects', [a.project(1)])
  await settle(store)
  const entries = (await get('/v1/sync/entries', A)).json<Feed>()
  t.same(ids(entries), ['entry1-a', 'entry2-a', 'entry3-a'])
  const message = 'answers is BSON int32, not an array'
  t.match(entries.data[1], { id: 'entry2-a', unreadable: true, message, changedAt: String })
  t.same(Object.keys(entries.data[1] ?? {}), ['id', 'unreadable', 'message', 'changedAt'])
  t.match((await get('/v1/entries', A)).json(), { errors: [{ message }] }, 'the list says the same')
  t.match((await get('/v1/sync/projects', A)).json<Feed>().data, [{ id: 'project1-a', createdBy: 'user-a' }])
  t.match((await get('/v1/sync/users', A)).json<Feed>().data, [{ id: 'user-a', unreadable: true }])
})

t.test('SYNC_STAMP=updatedAt orders by the time that records carry', async (t) => {
  const { get } = await testApp(t, { settings: { ...settings, SYNC_STAMP: 'updatedAt' }, fill: fillTenants })
  const feed = (await get('/v1/sync/entries', A)).json<Feed>()
  t.same(ids(feed), ['entry1-a', 'entry3-a', 'entry9-a', 'entry2-a'])
  for (const { changedAt, updatedAt } of feed.data) t.equal(changedAt, updatedAt, 'the stamp of the feed')
})

t.test('a cursor that is garbled, of another feed or organisation, or too old is refused', async (t) => {
  let now = Date.UTC(2025, 0, 1)
  const store = embeddedStore({ now: () => new Date(now) })
  const { get } = await testApp(t, { store, settings, fill: fillTenants })
  const { nextCursor } = (await get('/v1/sync/entries?perPage=1', A)).json<Feed>()._metadata
  for (const [path, organisation] of [
    [`/v1/sync/projects?cursor=${nextCursor}`, A],
    [`/v1/sync/entries?cursor=${nextCursor}`, B],
    [`/v1/sync/entries?cursor=${nextCursor}x`, A],
    ['/v1/sync/entries?cursor=**', A],
  ] as const) {
    const response = await get(path, organisation)
    t.equal(response.statusCode, 400, path)
    t.match(response.json(), { code: 'invalid_cursor', errors: [{ in: 'query', name: 'cursor' }] })
  }
  t.equal((await get(`/v1/sync/entries?cursor=${nextCursor}`, A)).statusCode, 200)
  now += 91 * 86_400_000
  const expired = await get(`/v1/sync/entries?cursor=${nextCursor}`, A)
  t.equal(expired.statusCode, 410)
  t.equal(expired.json().code, 'cursor_expired')
})

/** A store whose look-ups of the newest stamp are counted, and wait for `go`. */
const counted = (store: Store, go: Promise<unknown>) => {
  let lookUps = 0
  const aggregate: Store['aggregate'] = async (query, ...rest) => {
    const [first, second] = query.stages
    if (first?.$sort !== undefined && Object.values(first.$sort)[0] === -1 && second?.$limit === 1) {
      lookUps += 1
      await go
    }
    return store.aggregate(query, ...rest)
  }
  return { store: { ...store, aggregate }, lookUps: () => lookUps }
}

t.test('a request waits until something is there; all that wait share their look-ups', async (t) => {
  const gate = new EventEmitter()
  const { store, lookUps } = counted(testStore(t), once(gate, 'open'))
  const { app, get } = await testApp(t, { store, settings, fill: fillTenants })
  await listen(app) // keeps the process alive while requests wait
  await settle(store)
  const { nextCursor } = (await get('/v1/sync/entries', A)).json<Feed>()._metadata
  const waits: ReturnType<typeof get>[] = []
  // On a slow machine, a key that sends all at once has too many under way.
  for (let n = 0; n < 30; n++) {
    waits.push(get(`/v1/sync/entries?wait=30&cursor=${nextCursor}`, A))
    await setTimeout(10)
  }
  while (lookUps() === 0) await setTimeout(5)
  t.equal((await get('/v1/entries', A)).statusCode, 200, 'those that wait hold no place of their key')
  await store.upsert('entries', [a.entry(3, { status: 'rejected' })])
  gate.emit('open')
  for (const wait of await Promise.all(waits)) t.same(ids(wait.json()), ['entry3-a'])
  t.ok(lookUps() >= 2 && lookUps() <= 4, `two indexes, once or twice: ${lookUps()}`)
  const before = lookUps()
  t.same(ids((await get(`/v1/sync/entries?wait=30&cursor=${nextCursor}`, A)).json()), ['entry3-a'])
  t.equal(lookUps(), before, 'what is there already needs no wait')
})

t.test('a wait that finds nothing ends with an empty page and a cursor', async (t) => {
  const { app, get, store } = await testApp(t, { settings })
  await listen(app)
  await settle(store)
  const { data, _metadata } = (await get('/v1/sync/entries?wait=1', A)).json<Feed>()
  t.same(data, [])
  await store.insert('entries', [a.entry(1)])
  await settle(store)
  t.same(ids((await get(`/v1/sync/entries?cursor=${_metadata.nextCursor}`, A)).json()), ['entry1-a'])
  for (const wait of ['61', '-1', '1.5', '']) {
    t.equal((await get(`/v1/sync/entries?wait=${wait}`, A)).statusCode, 400, wait)
  }
})

t.test(
  'when the service closes, those that wait get their empty page at once, and their connections end',
  { timeout: 50_000 },
  async (t) => {
    const { app, get, keyOf } = await testApp(t, { settings })
    const port = await listen(app)
    const headers = { authorization: `Bearer ${await keyOf(A)}` }
    t.equal((await get('/v1/sync/entries', A)).headers.connection, 'keep-alive')
    const requested = once(app.server, 'request')
    const waiting = fetch(`http://127.0.0.1:${port}/v1/sync/entries?wait=60`, { headers })
    await requested
    const closed = app.close()
    const response = await waiting
    t.equal(response.status, 200)
    t.equal(response.headers.get('connection'), 'close')
    t.same(((await response.json()) as Feed).data, [])
    await closed
  },
)

t.test('a caller who leaves while it waits is forgotten', async (t) => {
  const { app, keyOf } = await testApp(t, { settings })
  const port = await listen(app)
  const headers = { authorization: `Bearer ${await keyOf(A)}` }
  const caller = new AbortController()
  const waits = Array.from({ length: 101 }, () =>
    fetch(`http://127.0.0.1:${port}/v1/sync/entries?wait=30`, { headers, signal: caller.signal }),
  )
  const get = async (wait: number) =>
    (await fetch(`http://127.0.0.1:${port}/v1/sync/entries?wait=${wait}`, { headers })).status
  t.equal((await Promise.race(waits)).status, 503, 'a hundred of a key may wait')
  // A service that is late refuses a key with many requests. The others wait for longer than this tries.
  const until = performance.now() + 10_000
  let status = await get(0)
  while (status === 503 && performance.now() < until) status = await get(0)
  t.equal(status, 200, 'it can still ask without waiting')
  caller.abort()
  await Promise.allSettled(waits)
  while ((await get(1)) !== 200) await setTimeout(20)
  t.pass('the places are free')
})

t.test('a request whose key ends while it waits, and a digest that takes as long, is refused', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  await settle(store)
  let end = 0
  const slow: Store = {
    ...store,
    async aggregate(query, reading) {
      while (Date.now() < end && query.collection === 'forms') await setTimeout(20)
      return store.aggregate(query, reading)
    },
  }
  const { app, get } = await testApp(t, { settings, store: slow })
  const { nextCursor } = (await get('/v1/sync/users', A)).json<Feed>()._metadata
  end = Date.now() + 500
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Short', expiresAt: new Date(end) })
  const ask = (url: string) => app.inject({ url, headers: { authorization: `Bearer ${key}` } })
  t.equal((await ask(`/v1/sync/users?cursor=${nextCursor}`)).statusCode, 200)
  const late = await Promise.all([ask(`/v1/sync/users?cursor=${nextCursor}&wait=1`), ask('/v1/sync/forms/digest')])
  for (const response of late) t.match(response.json(), { code: 'unauthorized' })
})
