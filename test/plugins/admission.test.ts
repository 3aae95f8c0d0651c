// The limits of a key: how many of its requests run at once, and how much memory its unread responses hold.
import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { lateRequests } from '../../src/http/entrance.js'
import { admissionPlugin } from '../../src/plugins/admission.js'
import { problemsPlugin } from '../../src/plugins/problems.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { listen, testConfig } from '../support/app.js'
import { getRequest, LAST, neverRead, receivedBy } from '../support/sockets.js'

const MB = 1024 * 1024

/** An application in which the path of a request names its key. `begun` has the requests whose handler has run. */
const served = async (
  t: Test,
  handler: (request: FastifyRequest) => unknown,
  {
    authenticate = async () => {},
    ...options
  }: Partial<Parameters<typeof admissionPlugin>[1]> & {
    authenticate?: (request: FastifyRequest) => Promise<void>
  } = {},
) => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.decorate('config', testConfig())
  const begun: string[] = []
  const auth = async () => {
    app.addHook('onRequest', async (request) => {
      const { key } = request.params as { key: string }
      request.scope = { organisationName: 'Test', keyName: 'Test', expiresAt: undefined, keyId: key, organisation: key }
      await authenticate(request)
    })
  }
  await app.register(problemsPlugin)
  await app.register(fp(auth, { name: 'key-auth' }))
  await app.register(admissionPlugin, { memory: 8 * MB, capacity: 64, ...options })
  app.decorateRequest('scope')
  app.get('/digests/:key', { config: { queue: 'digests' } }, (request) => {
    begun.push(request.url)
    return handler(request)
  })
  const limited = { type: 'object', properties: { limit: { type: 'integer' } } }
  app.get('/limited/:key', { config: { pageSize: 'limit' }, schema: { querystring: limited } }, (request) => {
    begun.push(request.url)
    return handler(request)
  })
  for (const path of ['/:key', '/other/:key']) {
    app.get(
      path,
      { schema: { querystring: { type: 'object', properties: { perPage: { type: 'integer' } } } } },
      (request) => {
        begun.push(request.url)
        return handler(request)
      },
    )
  }
  // inject() starts a request only when it is awaited; `async` does that.
  return { app, begun, get: async (path: string) => app.inject(path) }
}

/** Waits until a condition is true. If it never is, the test times out. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await setTimeout(5)
}

t.test(
  'a key has a limited number of running requests, the next starts when one ends, and other keys do not wait',
  async (t) => {
    const go = new EventEmitter().setMaxListeners(0)
    const { begun, get } = await served(t, ({ url }) => (url.startsWith('/a') ? once(go, 'end') : {}))
    const all = Array.from({ length: 26 }, (_, n) => get(`/a?n=${n}`))
    await until(() => begun.length === 16)
    t.equal((await get('/b')).statusCode, 200)
    t.equal(begun.length, 17)
    go.emit('end')
    await until(() => begun.length === 21)
    t.equal((await get('/b')).statusCode, 200)
    t.equal(begun.length, 22, 'while another key is in use, the limit is four')
    for (const count of [26, 28]) {
      go.emit('end')
      await until(() => begun.length === count)
    }
    go.emit('end')
    for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
  },
)

t.test(
  'before a database that does little at once, a key has no more than a half, and beside others a quarter',
  async (t) => {
    const go = new EventEmitter().setMaxListeners(0)
    const { begun, get } = await served(t, ({ url }) => once(go, url.slice(0, 2)), { capacity: 16 })
    const all = Array.from({ length: 8 }, (_, n) => get(`/a?n=${n}`))
    await until(() => begun.length === 4)
    all.push(get('/b'))
    await until(() => begun.length === 5)
    go.emit('/a')
    await until(() => begun.length === 7)
    go.emit('/a')
    await until(() => begun.length === 9)
    go.emit('/a')
    go.emit('/b')
    for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
  },
)

t.test('a route may have a page size of another name', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, ({ url }) => (url.includes('1000') ? once(go, 'end') : {}))
  const all = [get('/limited/a?limit=1000'), get('/limited/a?limit=1000')]
  await until(() => begun.length === 1)
  t.equal((await get('/limited/a?limit=50')).statusCode, 200)
  t.same(begun, ['/limited/a?limit=1000', '/limited/a?limit=50'])
  go.emit('end')
  await until(() => begun.length === 3)
  go.emit('end')
  for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
})

t.test('large pages of a key run one after the other, and do not block its small ones', async (t) => {
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

t.test('digests run two at once and one of each key, beside all other requests', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, ({ url }) => (url.startsWith('/digests') ? once(go, 'end') : {}))
  const all = ['/digests/a', '/digests/a?2', '/digests/b', '/digests/c'].map((path) => get(path))
  await until(() => begun.length === 2)
  t.same(begun, ['/digests/a', '/digests/b'])
  for (const path of ['/a?perPage=1000', '/a', '/c']) t.equal((await get(path)).statusCode, 200)
  go.emit('end')
  await until(() => begun.length === 7)
  t.same(begun.slice(5).sort(), ['/digests/a?2', '/digests/c'], 'without a pause, although several keys are in use')
  go.emit('end')
  for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
})

t.test('a request may leave its place while it waits for something, and enters again in its turn', async (t) => {
  const go = new EventEmitter()
  const handler = async ({ share, url }: FastifyRequest) => {
    if (!url.startsWith('/a?leave')) return once(go, url)
    share.leave()
    await once(go, 'back')
    await share.enter()
    return { entered: true }
  }
  const patient = await served(t, handler)
  const left = patient.get('/a?leave&perPage=1000')
  await until(() => patient.begun.length === 1)
  const other = patient.get('/a?perPage=1000')
  await until(() => patient.begun.length === 2)
  go.emit('back')
  await setTimeout(10)
  go.emit('/a?perPage=1000')
  t.equal((await other).statusCode, 200)
  t.same((await left).json(), { entered: true })

  const { app, begun, get } = await served(t, handler, { waitMs: 50 })
  const late = get('/a?leave&perPage=1000')
  await until(() => begun.length === 1)
  const holder = get('/a?perPage=1000')
  await until(() => begun.length === 2)
  go.emit('back')
  t.match((await late).json(), { code: 'overloaded' }, 'it waits no longer than at its beginning')
  go.emit('/a?perPage=1000')
  t.equal((await holder).statusCode, 200)

  const port = await listen(app)
  const connected = once(app.server, 'connection')
  const socket = await neverRead(port, getRequest('/a?leave&perPage=1000'))
  const [connection] = await connected
  await until(() => begun.length === 3)
  const closed = once(connection, 'close')
  socket.destroy()
  await closed
  go.emit('back')
  await setTimeout(10)
  const next = get('/a?perPage=1000')
  await until(() => begun.length === 4)
  go.emit('/a?perPage=1000')
  t.equal((await next).statusCode, 200, 'a caller that has gone takes no place again')
})

t.test('while several keys are in use, a large page is followed by a pause in which others are served', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, ({ url }) => (url.includes('1000') ? once(go, 'end') : {}))
  await get('/b')
  const pages = [get('/a?perPage=1000'), get('/a?perPage=1000')]
  await until(() => begun.length === 2)
  await setTimeout(1000) // the longest pause
  await get('/b') // both keys are still in use
  go.emit('end')
  await pages[0]
  await get('/b')
  t.same(begun, ['/b', '/a?perPage=1000', '/b', '/b'])
  await until(() => begun.length === 5)
  go.emit('end')
  t.equal((await pages[1])?.statusCode, 200)
})

t.test('a request that waits too long fails with 503 and Retry-After', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, () => once(go, 'end'), { waitMs: 50 })
  const first = get('/a?perPage=1000')
  const late = await get('/a?perPage=1000')
  t.equal(late.statusCode, 503)
  t.match(late.json(), { success: false, code: 'overloaded' })
  t.match(late.headers, { 'retry-after': /^[1-5]$/, connection: 'keep-alive' }, 'a proxy keeps the connection')
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.equal(begun.length, 1, 'its handler has not run')
})

t.test(
  'a key whose requests wait for long is refused at once and keeps its connection, and no other key is',
  async (t) => {
    const go = new EventEmitter().setMaxListeners(0)
    const { begun, get } = await served(t, ({ url }) => (url.startsWith('/a') ? once(go, 'end') : {}), { waitMs: 6000 })
    const all = Array.from({ length: 17 }, () => get('/a'))
    await until(() => begun.length === 16)
    await setTimeout(1300)
    const refused = await get('/a')
    t.equal(refused.statusCode, 503)
    t.match(refused.json(), { code: 'overloaded' })
    t.match(refused.headers, { 'retry-after': /^[1-5]$/, connection: 'keep-alive' })
    t.equal((await get('/b')).statusCode, 200)
    const end = setInterval(() => go.emit('end'), 5)
    for (const { statusCode } of await Promise.all(all)) t.equal(statusCode, 200)
    clearInterval(end)
  },
)

t.test('a late request is refused before its handler runs', async (t) => {
  const authenticate = async ({ url, raw }: FastifyRequest) => {
    if (url === '/a?late') lateRequests.add(raw)
  }
  const { begun, get } = await served(t, () => ({}), { authenticate })
  t.equal((await get('/a')).statusCode, 200)
  const late = await get('/a?late')
  t.match([late.statusCode, late.json().code, late.headers['retry-after']], [503, 'overloaded', /^[1-5]$/])
  t.same(begun, ['/a'])
})

t.test('when one request finds that the database cannot be reached, all that wait fail', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, async () => {
    await once(go, 'end')
    throw new StoreUnavailable(new Error('gone'))
  })
  const pages = [1, 2, 3].map(() => get('/a?perPage=1000'))
  await until(() => begun.length === 1)
  go.emit('end')
  for (const page of pages) t.match((await page).json(), { success: false, code: 'service_unavailable' })
  t.equal(begun.length, 1, 'the handler ran only once')
})

t.test('when the database is gone, no count begins that waited for its turn', async (t) => {
  const go = new EventEmitter()
  let counts = 0
  const { get } = await served(t, async ({ share }) => {
    const counted = share.count(async () => {
      counts += 1
      await once(go, 'end')
      throw new StoreUnavailable(new Error('gone'))
    })
    await Promise.allSettled([counted])
    // What else the request does ends a little later.
    await setTimeout(20)
    return counted
  })
  const all = [1, 2, 3, 4, 5].map(() => get('/a'))
  await until(() => counts === 2)
  go.emit('end')
  for (const response of await Promise.all(all)) t.match(response.json(), { code: 'service_unavailable' })
  t.equal(counts, 2)
})

t.test('a key writes eight Parquet files at once, and other keys their own', async (t) => {
  const go = new EventEmitter()
  let files = 0
  const { get, begun } = await served(
    t,
    async ({ share, url }) => {
      if (url.startsWith('/limited')) return {}
      const leave = await share.parquetFile()
      files += 1
      await once(go, 'end').finally(leave)
      return {}
    },
    { waitMs: 100 },
  )
  const eight = Array.from({ length: 8 }, () => get('/a'))
  await until(() => files === 8)
  t.match((await get('/a')).json(), { code: 'overloaded' })
  // They wait for a file, and hold no place of other requests meanwhile.
  const waiting = Array.from({ length: 16 }, () => get('/a'))
  await until(() => begun.length === 8 + 1 + 16)
  t.equal((await get('/limited/a')).statusCode, 200)
  for (const { statusCode } of await Promise.all(waiting)) t.equal(statusCode, 503)
  const others = get('/b')
  await until(() => files === 9)
  go.emit('end')
  for (const { statusCode } of await Promise.all([...eight, others])) t.equal(statusCode, 200)
  const last = get('/a')
  await until(() => files === 10)
  go.emit('end')
  t.equal((await last).statusCode, 200)
})

t.test(
  'a key with unread responses is refused before anything is read from the store, and other keys are served',
  async (t) => {
    // Larger than the buffers of a connection in the system.
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
    t.pass('the memory is free again')
  },
)

t.test('documents that are too large for the memory of the key are refused', async (t) => {
  const { get } = await served(
    t,
    async ({ share, url }) => {
      await share.claim(url.startsWith('/a?big') ? 300_000 : 100_000)
      return {}
    },
    { memory: MB },
  )
  t.equal((await get('/a?big')).statusCode, 200, 'a key that holds nothing is always served')
  const go = new EventEmitter()
  const other = await served(
    t,
    async ({ share, url }) => {
      await share.claim(200_000)
      if (url === '/a?first') await once(go, 'end')
      return {}
    },
    { memory: MB },
  )
  const first = other.get('/a?first')
  await until(() => other.begun.length === 1)
  t.equal((await other.get('/a')).json().code, 'overloaded')
  t.equal((await other.get('/b')).statusCode, 200)
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.equal((await other.get('/a')).statusCode, 200, 'memory that was given back can be taken again')
})

t.test(
  'a caller that disconnects while its request waits, or has its key verified, takes no place, and nothing runs for it',
  async (t) => {
    const go = new EventEmitter()
    let lookingUp: Promise<void> = Promise.resolve()
    const { app, begun, get } = await served(t, ({ url }) => (url === '/a?perPage=1000' ? once(go, 'end') : {}), {
      authenticate: () => lookingUp,
    })
    const port = await listen(app)
    const holder = get('/a?perPage=1000')
    await until(() => begun.length === 1)
    const sockets: Socket[] = []
    const call = async (path: string) => {
      const seen = once(app.server, 'request')
      sockets.push(await neverRead(port, getRequest(path)))
      return seen
    }
    await call('/a?perPage=999')
    let found = () => {}
    lookingUp = new Promise((resolve) => {
      found = resolve
    })
    await call('/a?perPage=998')
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')))
    for (const socket of sockets) socket.destroy()
    await closed
    await setTimeout(50)
    found()
    await setTimeout(20)
    go.emit('end')
    t.equal((await holder).statusCode, 200)
    const next = get('/a?perPage=1000')
    await until(() => begun.length === 2)
    go.emit('end')
    t.equal((await next).statusCode, 200)
    t.same(begun, ['/a?perPage=1000', '/a?perPage=1000'])
  },
)

t.test(
  'a request keeps its place and its memory until its handler has ended, although its caller has left',
  async (t) => {
    const go = new EventEmitter()
    const { app, begun, get } = await served(t, async ({ share, url }) => {
      if (!url.startsWith('/a?slow')) return {}
      await once(go, 'claim')
      await share.claim(3 * MB)
      go.emit('claimed')
      await once(go, 'end')
      return {}
    })
    const port = await listen(app)
    const seen = once(app.server, 'request')
    const socket = await neverRead(port, getRequest('/a?slow&perPage=1000'))
    const [, response] = await seen
    await until(() => begun.length === 1)
    // It has arrived before the memory is used up, so it waits.
    const page = get('/a?perPage=1000')
    await setTimeout(20)
    const claimed = once(go, 'claimed')
    go.emit('claim')
    await claimed
    const closed = once(response, 'close')
    socket.destroy()
    await closed
    t.equal((await get('/other/a')).json().code, 'overloaded', 'the memory is still in use')
    await setTimeout(20)
    t.equal(begun.length, 1, 'and so is the place')
    go.emit('end')
    t.equal((await page).statusCode, 200)
    t.equal((await get('/other/a')).statusCode, 200)
  },
)

t.test('a request that turns out to be large goes on in the queue of large ones, whatever it asked for', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, async ({ share, url }) => {
    if (!url.startsWith('/a?')) return { isLarge: await share.claim(100_000) }
    await share.reading.onBytes?.(300_000)
    await share.reading.onBytes?.(300_000)
    begun.push(`large ${url}`)
    await once(go, url)
    return {}
  })
  const large = ['/a?1', '/a?2', '/a?3'].map((url) => get(url))
  await until(() => begun.includes('large /a?1'))
  t.same(begun, ['/a?1', '/a?2', '/a?3', 'large /a?1'])
  t.same((await get('/other/a')).json(), { isLarge: false }, 'other requests of the key are served meanwhile')
  for (const url of ['/a?1', '/a?2', '/a?3']) {
    await until(() => begun.includes(`large ${url}`))
    t.equal(begun.filter((each) => each.startsWith('large')).at(-1), `large ${url}`)
    go.emit(url)
  }
  for (const response of await Promise.all(large)) t.equal(response.statusCode, 200)
})

t.test('once a request is large, all that is read for it beside each other waits for its place', async (t) => {
  const go = new EventEmitter()
  const read: number[] = []
  const { begun, get } = await served(t, async ({ url, share }) => {
    if (url === '/a?perPage=1000') return once(go, 'end')
    const reads = [1 * MB, 1, 1].map(async (bytes) => {
      await share.reading.onBytes?.(bytes)
      read.push(bytes)
    })
    go.emit('reads')
    return Promise.all(reads)
  })
  const first = get('/a?perPage=1000')
  await until(() => begun.length === 1)
  const reads = once(go, 'reads')
  const second = get('/a')
  await reads
  t.equal((await get('/b')).statusCode, 200, 'another key reads meanwhile')
  t.same(read.splice(0), [1 * MB, 1, 1])
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.equal((await second).statusCode, 200)
  t.same(read, [1 * MB, 1, 1])
})

t.test('after a large request of a key, all like it count as large from their beginning', async (t) => {
  const go = new EventEmitter()
  const { begun, get } = await served(t, async ({ share, url }) => {
    if (url === '/a?big') await share.claim(1 * MB)
    else await once(go, 'end')
    return {}
  })
  t.equal((await get('/a?big')).statusCode, 200)
  const all = ['/a?1', '/a?2', '/digests/a', '/b'].map((url) => get(url))
  await until(() => begun.length === 4)
  t.same(begun.slice(1).sort(), ['/a?1', '/b', '/digests/a'], 'other operations and other keys do not')
  go.emit('end')
  await until(() => begun.length === 5)
  go.emit('end')
  for (const response of await Promise.all(all)) t.equal(response.statusCode, 200)
})

t.test('what is read waits for no turn: only responses do', async (t) => {
  let turns = 0
  const { get } = await served(t, async ({ share }) => {
    const count = setInterval(() => (turns += 1), 0)
    for (let row = 0; row < 100; row++) await share.reading.onBytes?.(1)
    clearInterval(count)
    await share.claim(1)
    return {}
  })
  t.equal((await get('/a')).statusCode, 200)
  t.equal(turns, 0)
})

/** How many bytes of a response a caller has that does not read, when its connection is closed. */
const readBeforeCut = async (t: Test, app: FastifyInstance): Promise<number> => {
  const port = await listen(app)
  const connected = once(app.server, 'connection')
  const socket = await neverRead(port, getRequest('/a'))
  t.teardown(() => socket.destroy())
  const [connection] = await connected
  await once(connection, 'close')
  return socket.bytesRead
}

/** A file as exports send it. */
const fileOf = (parts: AsyncIterable<Buffer>): Readable => Readable.from(parts, { objectMode: false, highWaterMark: 1 })

t.test('the connection of a caller that reads too slowly is closed', async (t) => {
  const { app } = await served(t, () => Buffer.alloc(20 * MB), {
    memory: 64 * MB,
    readingMs: 20,
    minBytesPerMs: MB,
  })
  t.ok((await readBeforeCut(t, app)) < 20 * MB, 'the response was not read')
})

t.test('the connection of a caller that does not read a file is closed, even if the next part waits', async (t) => {
  async function* parts({ share }: FastifyRequest) {
    for (;;) yield await share.turn(async () => Buffer.alloc(20 * MB))
  }
  // There is no memory for two parts.
  const { app } = await served(t, (request) => fileOf(parts(request)), {
    memory: 64 * MB,
    readingMs: 20,
    minBytesPerMs: MB,
  })
  t.ok((await readBeforeCut(t, app)) < 20 * MB, 'the first part was not read')
})

t.test('a response in several parts holds no place between them, and waits for memory before the next', async (t) => {
  const go = new EventEmitter()
  const steps: string[] = []
  const parts = async ({ share, url }: FastifyRequest): Promise<string> => {
    for (const part of ['first', 'second']) {
      steps.push(`${url} ${part}`)
      await share.turn(async ({ onBytes }) => {
        await onBytes?.(MB)
        return Buffer.alloc(MB)
      })
      steps.push(`${url} has its ${part}`)
      if (part === 'first') await once(go, url)
    }
    return 'whole'
  }
  const full = async (request: FastifyRequest): Promise<string> => {
    request.share.hold(2 * MB)
    await once(go, request.url)
    return 'done'
  }
  const { get } = await served(t, (request) => (request.url.includes('full') ? full(request) : parts(request)), {
    waitBetweenMs: 150,
  })
  const [one, two] = [get('/a?1'), get('/a?2')]
  await until(() => steps.filter((step) => step.endsWith('has its first')).length === 2)
  go.emit('/a?1')
  t.equal((await one).body, 'whole', 'while the other one has not gone on')

  const holder = get('/a?full')
  await setTimeout(20)
  go.emit('/a?2')
  await setTimeout(20)
  t.notOk(steps.includes('/a?2 has its second'), 'it waits for memory')
  go.emit('/a?full')
  t.equal((await holder).body, 'done')
  t.equal((await two).body, 'whole')

  const three = get('/a?3')
  await until(() => steps.includes('/a?3 has its first'))
  const another = get('/a?full')
  await setTimeout(20)
  go.emit('/a?3')
  t.equal((await three).statusCode, 503, 'and not for ever')
  go.emit('/a?full')
  await another
})

t.test('parts of a file that nobody reads count as memory, also when the file has ended', async (t) => {
  const PART = 11 * MB
  let made = 0
  let ended = 0
  async function* parts({ share, url }: FastifyRequest) {
    const part = (bytes: number) =>
      share.turn(async () => {
        made += 1
        return Buffer.alloc(bytes)
      })
    yield await part(PART)
    await part(0)
    if (url.includes('long')) yield await part(PART)
    await part(0)
    ended += 1
  }
  const { app, get } = await served(t, (request) => (request.url.includes('file') ? fileOf(parts(request)) : 'page'), {
    memory: 128 * MB,
  })
  const port = await listen(app)
  const open = (...paths: string[]) => Promise.all(paths.map((path) => neverRead(port, getRequest(path, LAST))))
  const unread = await open('/a?file=long')
  while (made < 3) await setTimeout(5)
  unread.push(...(await open('/a?file=long')))
  while ((await get('/a')).statusCode === 200) await setTimeout(5)
  t.equal((await get('/b')).statusCode, 200)
  const received = await Promise.all(unread.map(receivedBy))
  for (const each of received) t.ok(each.length > 2 * PART)
  t.equal(ended, 2, 'who reads gets all parts')
  t.equal((await get('/a')).statusCode, 200)

  const whole = await open('/a?file', '/a?file', '/a?file')
  while ((await get('/a')).statusCode === 200) await setTimeout(5)
  t.pass('Node still has three files')
  for (const socket of whole) socket.destroy()
})
