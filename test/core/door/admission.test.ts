// Requests and the scheduler: which are refused, when their handlers begin, and how long they keep their place and memory.
import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import Fastify, { type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { admissionPlugin, schedulerFor } from '../../../src/core/door/admission.js'
import { errorsPlugin } from '../../../src/core/http/errors.js'
import { FairScheduler, type SchedulerOptions } from '../../../src/core/limits/scheduler.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { StoreUnavailable } from '../../../src/core/store/store.js'
import { listen, testApp, testConfig } from '../../support/app.js'
import { getRequest, neverRead } from '../../support/sockets.js'
import { A } from '../../support/tenants.js'

const MB = 1024 * 1024

/**
 * An application in which the path of a request names its key, and a request of `/large/KEY` becomes large. `begun` has the requests
 * whose handlers have begun.
 */
const served = async (
  t: Test,
  handler: (request: FastifyRequest) => unknown,
  { settings = {}, ...options }: Partial<SchedulerOptions> & { settings?: Record<string, string> } = {},
  capacity = 64,
) => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.decorate('config', testConfig(settings))
  app.decorate('metrics', undefined)
  const usual = schedulerFor(app, capacity)
  const scheduler = Object.keys(options).length === 0 ? usual : new FairScheduler({ ...usual.options, ...options })
  await app.register(errorsPlugin)
  await app.register(admissionPlugin, { scheduler, keyOf: ({ params }) => (params as { key: string }).key })
  const begun: string[] = []
  const noted = async (request: FastifyRequest) => {
    begun.push(request.url)
    return handler(request)
  }
  app.get('/:key', noted)
  app.get('/large/:key', async (request) => {
    if (request.url !== '/large/a?small') await request.ticket.becomeLarge()
    return noted(request)
  })
  // inject() starts a request only when it is awaited; `async` does that.
  return { app, begun, scheduler, get: async (path: string) => app.inject(path) }
}

/** Waits until a condition is true. If it never is, the test times out. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await setTimeout(5)
}

for (const [capacity, ofKey, inAll] of [
  [64, 16, 32],
  [10, 2, 5],
  [1, 1, 1],
] as const) {
  t.test(
    `a store of ${capacity} connections serves ${ofKey} requests of a key at once, and ${inAll} in all`,
    async (t) => {
      const go = new EventEmitter().setMaxListeners(0)
      const { begun, scheduler, get } = await served(t, () => once(go, 'end'), {}, capacity)
      const all = Array.from({ length: ofKey + 1 }, () => get('/a'))
      await until(() => begun.length === ofKey && scheduler.all.waiting.small === 1)
      for (let n = 0; n < inAll; n++) all.push(get(`/${n}`))
      await until(() => begun.length === inAll && scheduler.all.waiting.small === ofKey + 1)
      for (let ended = begun.length; ended < all.length; ended = begun.length) {
        go.emit('end')
        await until(() => begun.length === Math.min(all.length, ended + inAll))
      }
      go.emit('end')
      for (const { statusCode } of await Promise.all(all)) t.equal(statusCode, 200)
    },
  )
}

t.test('large requests run one of a key and two in all, beside all others', async (t) => {
  const go = new EventEmitter()
  const { begun, scheduler, get } = await served(t, ({ url }) => (/small|^.a/.test(url) ? {} : once(go, 'end')))
  const all = ['/large/a', '/large/a?2', '/large/b', '/large/c'].map((path) => get(path))
  await until(() => scheduler.all.waiting.large === 2 && begun.length === 2)
  t.same(begun, ['/large/a', '/large/b'])
  for (const path of ['/a', '/large/a?small']) t.equal((await get(path)).statusCode, 200)
  for (const count of [6, 6]) {
    go.emit('end')
    await until(() => begun.length === count)
  }
  for (const { statusCode } of await Promise.all(all)) t.equal(statusCode, 200)
})

t.test('a request that waits too long is refused, and its handler does not run', async (t) => {
  const go = new EventEmitter()
  const { begun, scheduler, get } = await served(t, () => once(go, 'end'), {
    small: { all: 1, perKey: 1 },
    waitMs: 0,
  })
  const first = get('/a')
  await until(() => begun.length === 1)
  const late = get('/a')
  await until(() => scheduler.all.waiting.small === 1)
  scheduler.tick()
  const { statusCode, headers, json } = await late
  t.match([statusCode, headers['retry-after'], json().code], [503, /^[1-5]$/, 'overloaded'])
  t.equal(headers.connection, 'keep-alive', 'a proxy keeps the connection')
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.equal(begun.length, 1)
})

t.test('when one request finds that the database cannot be reached, all that wait fail', async (t) => {
  for (const [error, codes] of [
    [new StoreUnavailable(new Error('gone')), ['service_unavailable', 'service_unavailable', 'service_unavailable']],
    [new Error('odd'), ['internal_error', 'internal_error', 'internal_error']],
  ] as const) {
    const go = new EventEmitter()
    let begun = 0
    const aggregate = async () => {
      begun += 1
      await once(go, 'end')
      throw error
    }
    const { get } = await testApp(t, { store: { ...embeddedStore(), capacity: 1, aggregate } })
    const all = [1, 2, 3].map(() => get('/v1/entries?total=false', A))
    const isUnavailable = error instanceof StoreUnavailable
    for (let ended = 0; ended < (isUnavailable ? 1 : 3); ended++) {
      await until(() => begun > ended)
      await setTimeout(20)
      go.emit('end')
    }
    t.same(
      (await Promise.all(all)).map((response) => response.json().code),
      codes,
    )
    t.equal(begun, isUnavailable ? 1 : 3, 'another error is that of its request alone')
  }
})

t.test('a key with unread responses is refused before its handler runs, and other keys are served', async (t) => {
  // Larger than the buffers of a connection in the system, and than the quarter of the memory that a key may have.
  const { app, begun, scheduler, get } = await served(t, () => Buffer.alloc(20 * MB), {
    settings: { RESPONSE_MEMORY_MB: '64' },
  })
  const socket = await neverRead(await listen(app), getRequest('/a'))
  await until(() => scheduler.all.held > 0)
  const refused = await get('/a')
  t.match([refused.statusCode, refused.json().code], [503, 'overloaded'])
  t.equal(begun.length, 1)
  t.equal((await get('/b')).statusCode, 200)
  socket.resetAndDestroy()
  await until(() => scheduler.all.held === 0)
  t.equal((await get('/a')).statusCode, 200, 'the memory is free again')
})

t.test('a response in parts does not count as held: its handler tells what it holds', async (t) => {
  const { scheduler, get } = await served(t, ({ ticket }) => {
    ticket.hold(5)
    const parts = function* () {
      yield `held ${scheduler.all.held}`
    }
    return Readable.from(parts())
  })
  t.equal((await get('/a')).body, 'held 5')
  t.equal(scheduler.all.held, 0)
})

t.test('a request whose caller has left while it waits takes no place, and nothing runs for it', async (t) => {
  const go = new EventEmitter()
  const { app, begun, scheduler, get } = await served(t, () => once(go, 'end'), { small: { all: 1, perKey: 1 } })
  const port = await listen(app)
  const first = get('/a?first')
  await until(() => begun.length === 1)
  const socket = await neverRead(port, getRequest('/a?left'))
  await until(() => scheduler.all.waiting.small === 1)
  socket.destroy()
  await until(() => {
    scheduler.tick()
    return scheduler.all.waiting.small === 0
  })
  go.emit('end')
  t.equal((await first).statusCode, 200)
  t.same([begun, scheduler.all.running.small], [['/a?first'], 0])
})

t.test('a request keeps its place and its memory until its handler ends, although its caller has left', async (t) => {
  const go = new EventEmitter()
  const { app, begun, scheduler } = await served(t, async ({ ticket }) => {
    await ticket.charge(3 * MB)
    await once(go, 'end')
    return {}
  })
  const socket = await neverRead(await listen(app), getRequest('/a'))
  await until(() => scheduler.all.running.large === 1)
  const connections = promisify(app.server.getConnections).bind(app.server)
  socket.destroy()
  while ((await connections()) > 0) await setTimeout(5)
  t.same([begun.length, scheduler.all.running.large, scheduler.all.held], [1, 1, 3 * MB])
  go.emit('end')
  await until(() => scheduler.all.running.large === 0)
  t.equal(scheduler.all.held, 0)
})
