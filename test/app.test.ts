// What the application makes of requests that arrive faster than the event loop can handle them.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { makeKey } from '../src/keys/format.js'
import { listen, testApp } from './support/app.js'
import { getRequest, LAST, receivedBy, statusesIn } from './support/sockets.js'
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
