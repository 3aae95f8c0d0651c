// Graceful shutdown: running requests get their responses first.
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { BsonList } from '../../../src/core/bson/reader.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { listen, testApp } from '../../support/app.js'
import { getRequest, idleClosed, LAST, neverRead, receivedBy, send } from '../../support/sockets.js'
import { A } from '../../support/tenants.js'
import { leftToGate } from '../../support/thorough.js'

t.test(
  'a running request gets its response, so does one that arrives meanwhile, and then the connections are closed',
  async (t) => {
    const query = new EventEmitter()
    const store = {
      ...embeddedStore(),
      aggregate: async () => {
        query.emit('started')
        await once(query, 'finish')
        return new BsonList('entries', [])
      },
    }
    const { app, keyOf } = await testApp(t, { store })
    const port = await listen(app)
    const open = async () => {
      const socket = await neverRead(port, '')
      return { socket, received: receivedBy(socket) }
    }
    const [slow, other] = [await open(), await open()]
    const started = once(query, 'started')
    slow.socket.write(getRequest('/v1/entries', { authorization: `Bearer ${await keyOf(A)}` }))
    await started
    const closed = app.close()
    await setTimeout(60)
    other.socket.write(getRequest('/health/live'))
    t.match(await other.received, /^HTTP\/1.1 200 .*connection: close/is)
    // Longer than the service waits for further requests.
    await setTimeout(1600)
    query.emit('finish')
    t.match(await slow.received, /^HTTP\/1.1 200 .*"data":\[\]/s)
    await closed
  },
)

t.test('no connection is reset when it stops listening, however many are opened', { skip: leftToGate }, async (t) => {
  const { app } = await testApp(t)
  // Without a key, no request is refused because the machine is slow.
  const request = getRequest('/health/live', LAST)
  const port = await listen(app)
  let served = 0
  const callUntilRefused = async (): Promise<string> => {
    for (;;) {
      const received = await send(port, request).catch(({ code }) => code)
      if (!/^HTTP\/1.1 200 /.test(received)) return received
      served += 1
    }
  }
  const callers = Array.from({ length: 20 }, callUntilRefused)
  while (served < 100) await setTimeout(5)
  await app.close()
  t.same(new Set(await Promise.all(callers)), new Set(['ECONNREFUSED']))
})

t.test('a request that arrives while it stops listening waits, and is served', async (t) => {
  const { app } = await testApp(t)
  const socket = await neverRead(await listen(app), '')
  const received = receivedBy(socket)
  // It looks for connections as long as it stops listening.
  app.server.on('newListener', (event) => event === 'connection' && socket.write(getRequest('/health/live')))
  await app.close()
  t.match(await received, /^HTTP\/1.1 200 /)
})

t.test('what waits for something is told that the service closes while its connection is still open', async (t) => {
  const { app } = await testApp(t)
  await listen(app)
  const listening: boolean[] = []
  app.closing.addEventListener('abort', () => listening.push(app.server.listening))
  t.notOk(app.closing.aborted)
  t.notOk(app.isLeaving)
  await app.close()
  t.ok(app.isLeaving)
  t.same(listening, [true])
})

t.test('requests of callers that have disconnected do not delay the shutdown', async (t) => {
  const { app } = await testApp(t)
  const port = await listen(app)
  const gone = connect(port, '127.0.0.1')
  const seen = once(app.server, 'request')
  gone.write('GET /health/ready HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20))
  await seen
  gone.destroy()
  const half = connect(port, '127.0.0.1')
  const ended = once(half, 'close')
  half.write('GET /health/ready HTTP/1.1\r\n')
  await once(half, 'connect')
  await app.close()
  await ended
  t.pass('the connection with half a request was closed')
})

t.test('a response that is still to be sent is not broken off', async (t) => {
  const { app } = await testApp(t)
  const body = Buffer.alloc(20_000_000)
  const sent = new EventEmitter()
  app.get('/large', async (_request, reply) => {
    sent.emit('begun')
    return reply.send(body)
  })
  const port = await listen(app)
  const begun = once(sent, 'begun')
  const slow = await neverRead(port, getRequest('/large'))
  await begun
  const closesIdle = idleClosed(app.server)
  const closed = app.close()
  await closesIdle
  t.ok((await receivedBy(slow)).length > body.length)
  await closed
})
