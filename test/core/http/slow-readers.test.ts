// Callers that read a response slowly: whose connection is closed, and when.
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import Fastify, { type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { slowReadersPlugin } from '../../../src/core/http/slow-readers.js'
import { listen } from '../../support/app.js'
import { getRequest, LAST, neverRead, receivedBy } from '../../support/sockets.js'
import { leftToGate } from '../../support/thorough.js'

/** More than the system takes for a caller who reads nothing. */
const LARGE = 20 * 1024 * 1024
/** A caller has no time at all. */
const AT_ONCE = { readingMs: 0, minBytesPerMs: LARGE, lookMs: 5 }

const served = async (t: Test, options: Parameters<typeof slowReadersPlugin>[1] = {}) => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(slowReadersPlugin, options)
  app.get('/page', async () => Buffer.alloc(LARGE))
  app.get('/text', async () => 'x'.repeat(LARGE))
  app.get('/file', async (_request, reply: FastifyReply) => {
    const parts = async function* () {
      for (;;) {
        app.expectReading(reply, LARGE)
        yield Buffer.alloc(LARGE)
      }
    }
    return reply.send(Readable.from(parts(), { objectMode: false, highWaterMark: 1 }))
  })
  return { app, port: await listen(app) }
}

for (const path of ['/page', '/text', '/file']) {
  t.test(`a caller that does not read ${path} in time is disconnected`, async (t) => {
    const { app, port } = await served(t, AT_ONCE)
    const connected = once(app.server, 'connection')
    const socket = await neverRead(port, getRequest(path))
    t.teardown(() => socket.destroy())
    const [connection] = await connected
    await once(connection, 'close')
    t.ok(socket.bytesRead < LARGE)
  })
}

t.test('a caller has time to begin with, and more for each byte', { skip: leftToGate }, async (t) => {
  for (const options of [
    { readingMs: 60_000, minBytesPerMs: LARGE, lookMs: 1 },
    { readingMs: 0, minBytesPerMs: LARGE / 60_000, lookMs: 1 },
  ]) {
    const { app, port } = await served(t, options)
    const socket = connect(port, '127.0.0.1')
    const requested = once(app.server, 'request')
    socket.write(getRequest('/page', LAST))
    await requested
    await setTimeout(20)
    t.ok((await receivedBy(socket)).length > LARGE)
  }
})
