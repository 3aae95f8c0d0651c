// Whether the caller is still connected, and when a request has ended.
import { EventEmitter, once } from 'node:events'
import { connect, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { callerGone, wasSent, whenOver } from '../../../src/core/http/caller.js'
import { listen } from '../../support/app.js'
import { getRequest, LAST, neverRead, send } from '../../support/sockets.js'

/** More than the system takes for a caller who reads nothing, in bytes. */
const LARGE = 16 * 1024 * 1024

/** Emits `end` with what wasSent() tells of each request. `/slow` gets no response until `go` is emitted. */
const serve = async (t: Test) => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const events = new EventEmitter()
  const signals: AbortSignal[] = []
  app.get('/:name', async (request, reply: FastifyReply) => {
    signals.push(callerGone(request))
    whenOver(reply, () => events.emit('end', wasSent(reply)))
    events.emit('request', reply)
    if (request.url === '/slow') await once(events, 'go')
    return request.url === '/large' ? 'x'.repeat(LARGE) : {}
  })
  return { port: await listen(app), events, signals }
}

t.test('a request ends when its response was sent, also for who asks later', async (t) => {
  const { port, events } = await serve(t)
  const received = once(events, 'request')
  const ended = once(events, 'end')
  await send(port, getRequest('/quick', LAST))
  t.same(await ended, [true])
  const [reply] = await received
  const late: boolean[] = []
  whenOver(reply, () => late.push(wasSent(reply)))
  t.same(late, [true])
})

t.test('a request ends when its caller disconnects, and one whose caller has gone ends at once', async (t) => {
  const { port, events, signals } = await serve(t)
  const received = once(events, 'request')
  const socket = await neverRead(port, getRequest('/slow'))
  const [reply] = await received
  const ended = once(events, 'end')
  socket.destroy()
  t.same(await ended, [false])
  t.ok(signals[0]?.aborted)
  const late: boolean[] = []
  whenOver(reply, () => late.push(wasSent(reply)))
  t.same(late, [false])
  t.ok(callerGone({ socket: new Socket().destroy() } as FastifyRequest).aborted)
  events.emit('go')
})

t.test('a response that was cut off was not sent, whoever closed the connection', async (t) => {
  const { port, events } = await serve(t)
  for (const close of [
    (caller: Socket) => caller.destroy(),
    (caller: Socket) => caller.resetAndDestroy(),
    (_caller: Socket, reply: FastifyReply) => reply.raw.destroy(),
  ]) {
    const received = once(events, 'request')
    const caller = await neverRead(port, getRequest('/large'))
    const [reply] = await received
    while (!reply.raw.writableEnded) await setImmediate()
    const ended = once(events, 'end')
    close(caller, reply)
    t.same(await ended, [false])
    caller.destroy()
  }
  const ended = once(events, 'end')
  t.ok((await send(port, getRequest('/large', LAST))).length > LARGE)
  t.same(await ended, [true], 'one that was read')
})

t.test('requests of a connection share a signal, which aborts when the connection closes', async (t) => {
  const { port, signals } = await serve(t)
  const socket = connect(port, '127.0.0.1', () => socket.write(getRequest('/1')))
  await once(socket, 'data')
  socket.write(getRequest('/2'))
  await once(socket, 'data')
  t.equal(signals.length, 2)
  t.equal(signals[0], signals[1])
  t.notOk(signals[0]?.aborted)
  const aborted = once(signals[0] as AbortSignal, 'abort')
  socket.destroy()
  await aborted
})
