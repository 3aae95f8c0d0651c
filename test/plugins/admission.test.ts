// The share of a key: turns for its requests, and a budget of memory for responses that are not read.
import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import Fastify, { type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { admissionPlugin } from '../../src/plugins/admission.js'
import { problemsPlugin } from '../../src/plugins/problems.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { listen } from '../support/app.js'
import { getRequest, neverRead } from '../support/sockets.js'

const MB = 1024 * 1024

/** An application whose requests name their key in the path, and what it was asked for. */
const served = async (
  t: Test,
  handler: (request: FastifyRequest) => unknown,
  {
    authenticate = async () => {},
    ...options
  }: Partial<Parameters<typeof admissionPlugin>[1]> & {
    authenticate?: () => Promise<void>
  } = {},
) => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const begun: string[] = []
  const auth = async () => {
    app.addHook('onRequest', async (request) => {
      const { key } = request.params as { key: string }
      request.scope = { keyId: key, organisation: key }
      await authenticate()
    })
  }
  await app.register(problemsPlugin)
  await app.register(fp(auth, { name: 'bearer-auth' }))
  await app.register(admissionPlugin, { memory: 8 * MB, ...options })
  app.decorateRequest('scope')
  app.get(
    '/:key',
    { schema: { querystring: { type: 'object', properties: { perPage: { type: 'integer' } } } } },
    (request) => {
      begun.push(request.url)
      return handler(request)
    },
  )
  // Without `async` a request would begin when it is awaited.
  return { app, begun, get: async (path: string) => app.inject(path) }
}

/** Waits until something holds, for as long as the test may take. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await setTimeout(5)
}

t.test(
  'a key has so many requests under way at once, the next begins when one ends, others are not held up',
  async (t) => {
    const go = new EventEmitter()
    const { begun, get } = await served(t, ({ url }) => (url.startsWith('/a') ? once(go, 'end') : {}))
    const all = Array.from({ length: 26 }, (_, n) => get(`/a?n=${n}`))
    await until(() => begun.length === 16)
    t.equal((await get('/b')).statusCode, 200)
    t.equal(begun.length, 17)
    go.emit('end')
    await until(() => begun.length === 21)
    t.equal((await get('/b')).statusCode, 200)
    t.equal(begun.length, 22, 'beside another key it has four')
    for (const count of [26, 28]) {
      go.emit('end')
      await until(() => begun.length === count)
    }
    go.emit('end')
    for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
  },
)

t.test('large pages of a key come one after the other, while its small ones pass', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, ({ url }) => (url.includes('1000') ? once(go, 'end') : {}))
  const all = [get('/a?perPage=1000'), get('/a?perPage=1000'), get('/b?perPage=1000'), get('/c?perPage=1000')]
  await until(() => begun.length === 2)
  t.equal((await get('/a?perPage=50')).statusCode, 200)
  t.same(begun, ['/a?perPage=1000', '/b?perPage=1000', '/a?perPage=50'])
  for (const count of [5, 5]) {
    go.emit('end')
    await until(() => begun.length === count)
  }
  go.emit('end')
  for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
})

t.test('where several keys ask, a large page is followed by a rest in which others are served', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, ({ url }) => (url.includes('1000') ? once(go, 'end') : {}))
  await get('/b')
  const pages = [get('/a?perPage=1000'), get('/a?perPage=1000')]
  await until(() => begun.length === 2)
  await setTimeout(300)
  go.emit('end')
  await pages[0]
  await get('/b')
  t.same(begun, ['/b', '/a?perPage=1000', '/b'])
  await until(() => begun.length === 4)
  go.emit('end')
  t.equal((await pages[1])?.statusCode, 200)
})

t.test('a request that waits for too long is told to come later', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, () => once(go, 'end'), { waitMs: 50, checkIntervalMs: 10 })
  // A process that serves has a socket to live for; this one has none.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const first = get('/a?perPage=1000')
  const late = await get('/a?perPage=1000')
  t.equal(late.statusCode, 503)
  t.match(late.json(), { success: false, code: 'overloaded' })
  t.equal(late.headers['retry-after'], '2')
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.equal(begun.length, 1, 'and it did not begin')
})

t.test('all who wait are told of an outage that one has met', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, async () => {
    await once(go, 'end')
    throw new StoreUnavailable(new Error('gone'))
  })
  const pages = [1, 2, 3].map(() => get('/a?perPage=1000'))
  await until(() => begun.length === 1)
  go.emit('end')
  for (const page of pages) t.match((await page).json(), { success: false, code: 'service_unavailable' })
  t.equal(begun.length, 1, 'and have asked nobody')
})

t.test(
  'a key whose responses are not read is refused before anything is read for it, another key is not',
  async (t) => {
    // Larger than what the system keeps for a connection.
    const { app, begun, get } = await served(t, () => Buffer.alloc(20 * MB), { memory: 64 * MB })
    const port = await listen(app)
    const socket = await neverRead(port, getRequest('/a'))
    await until(() => begun.length === 1)
    const refused = await get('/a')
    t.equal(refused.statusCode, 503)
    t.equal(refused.json().code, 'overloaded')
    t.equal(begun.length, 1)
    t.equal((await get('/b')).statusCode, 200)
    socket.resetAndDestroy()
    for (let status = 503; status === 503; status = (await get('/a')).statusCode) await setTimeout(5)
    t.pass('it has memory again')
  },
)

t.test('documents that turn out too large for the budget are refused', async (t) => {
  const { get } = await served(t, ({ share, url }) => {
    share.claim(url.startsWith('/a?big') ? 3 * MB : 1 * MB)
    return {}
  })
  t.equal((await get('/a?big')).statusCode, 200, 'whoever has nothing under way may be served')
  const go = new EventEmitter()
  const other = await served(t, async ({ share, url }) => {
    share.claim(2 * MB)
    if (url === '/a?first') await once(go, 'end')
    return {}
  })
  const first = other.get('/a?first')
  await until(() => other.begun.length === 1)
  t.equal((await other.get('/a')).json().code, 'overloaded')
  t.equal((await other.get('/b')).statusCode, 200)
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.equal((await other.get('/a')).statusCode, 200, 'what was given back can be taken again')
})

t.test(
  'a caller who goes leaves its place and its memory, whether it waited, was served or was looked up',
  async (t) => {
    const go = new EventEmitter()
    let lookingUp: Promise<void> = Promise.resolve()
    const { app, begun, get } = await served(
      t,
      async ({ url }) => {
        if (!url.startsWith('/a?slow')) return {}
        await once(go, 'end')
        return Buffer.alloc(3 * MB)
      },
      { authenticate: () => lookingUp },
    )
    const port = await listen(app)
    const sockets = []
    for (const path of ['/a?slow&perPage=1000', '/a?slow&perPage=999']) {
      const seen = once(app.server, 'request')
      sockets.push(await neverRead(port, getRequest(path)))
      await seen
    }
    let found = () => {}
    lookingUp = new Promise((resolve) => {
      found = resolve
    })
    const seen = once(app.server, 'request')
    sockets.push(await neverRead(port, getRequest('/a?slow&perPage=998')))
    await seen
    await until(() => begun.length === 1)
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')))
    for (const socket of sockets) socket.destroy()
    await closed
    await setTimeout(50)
    found()
    await setTimeout(20)
    t.same(begun, ['/a?slow&perPage=1000'])
    t.equal((await get('/a?perPage=1000')).statusCode, 200, 'the place is free')
    go.emit('end')
    await setTimeout(20)
    for (let i = 0; i < 5; i++) t.equal((await get('/a')).statusCode, 200, 'the memory is free')
  },
)

t.test('a caller who reads too slowly loses the connection', async (t) => {
  const { app } = await served(t, () => Buffer.alloc(20 * MB), {
    memory: 64 * MB,
    readingMs: 20,
    minBytesPerMs: MB,
    checkIntervalMs: 10,
  })
  const port = await listen(app)
  const connected = once(app.server, 'connection')
  const socket = await neverRead(port, getRequest('/a'))
  t.teardown(() => socket.destroy())
  const [connection] = await connected
  await once(connection, 'close')
  t.ok(socket.bytesRead < 20 * MB, 'the response was not read')
})
