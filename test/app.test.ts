// What the application makes of requests that arrive faster than the event loop can handle them.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isForConnections } from '../src/http/server.js'
import { makeKey } from '../src/keys/format.js'
import { listen, testApp } from './support/app.js'
import { getRequest, LAST, receivedBy, send, statusesIn } from './support/sockets.js'
import { testStore } from './support/store.js'
import { A, fillTenants } from './support/tenants.js'

/** How long requests have waited when they are late. */
const LATE_MS = 500

/** Connections that are open already, so that many requests can arrive in one turn of the event loop. */
const openSockets = async (t: Test, port: number, count: number): Promise<Socket[]> => {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  // A response shows that the service has taken over the connection.
  for (const socket of sockets) socket.write(getRequest('/health/live'))
  await Promise.all(sockets.map((socket) => once(socket, 'data')))
  return sockets
}

t.test('a key whose requests have waited for the event loop for long is refused', async (t) => {
  const { app, keyOf } = await testApp(t, { fill: fillTenants })
  const authorization = `Bearer ${await keyOf(A)}`
  const port = await listen(app)
  const first = await openSockets(t, port, 40)
  const next = await openSockets(t, port, 12)
  const responses = next.map(receivedBy)
  let arrived = 0
  app.server.on('request', () => {
    arrived += 1
    if (arrived !== first.length) return
    // These arrive after a long turn, in which the others wait.
    for (const socket of next) socket.write(getRequest('/v1/me', { ...LAST, authorization }))
    for (const begun = performance.now(); performance.now() < begun + LATE_MS; );
  })
  for (const socket of first) socket.write(getRequest('/v1/me', { authorization }))
  for (const response of await Promise.all(responses)) {
    t.same(statusesIn(response), [503])
    t.match(response, /"code":"overloaded"/)
    t.match(response, /\r\nretry-after: [1-5]\r\n/)
  }
})

t.test('a health check is served before requests that wait for the event loop', async (t) => {
  const { app } = await testApp(t)
  const sockets = await openSockets(t, await listen(app), 41)
  const served: string[] = []
  const responses = sockets.map(async (socket, n) => {
    const isCheck = n === sockets.length - 1
    const response = receivedBy(socket)
    socket.write(
      isCheck
        ? getRequest('/health/ready', LAST)
        : getRequest('/v1/me', { ...LAST, authorization: `Bearer ${makeKey()}` }),
    )
    served.push(`${isCheck ? 'check' : 'other'} ${statusesIn(await response)}`)
  })
  await Promise.all(responses)
  t.equal(served.filter((each) => each === 'other 401').length, 40)
  // Without a line of its own it would come last: ten of the others begin in a turn.
  t.ok(served.slice(0, 25).includes('check 200'), `it came after ${served.indexOf('check 200')} others`)
})

t.test('no page is written in a turn that is for connections', async (t) => {
  const store = testStore(t)
  const late: typeof store = {
    ...store,
    aggregate: async (...query) => {
      for (let turn = 0; turn < 3; turn++) await nextTurn()
      return store.aggregate(...query)
    },
  }
  const { app, keyOf } = await testApp(t, { store: late, fill: fillTenants })
  const authorization = `Bearer ${await keyOf(A)}`
  const port = await listen(app)
  const connections: PassThrough[] = []
  const written: boolean[] = []
  app.server.on('request', (_request, response) => {
    const { end } = response
    response.end = (...body: unknown[]) => {
      written.push(isForConnections(app.server))
      return Reflect.apply(end, response, body)
    }
  })
  let isOver = false
  const arriving = (async () => {
    for (; !isOver; await nextTurn()) {
      const connection = new PassThrough()
      connections.push(connection)
      app.server.emit('connection', connection)
    }
  })()
  for (let n = 0; n < 10; n++) {
    t.same(statusesIn(await send(port, getRequest('/v1/entries?perPage=1', { ...LAST, authorization }))), [200])
  }
  isOver = true
  await arriving
  for (const connection of connections) connection.destroy()
  t.same(written, Array(10).fill(false))
})
