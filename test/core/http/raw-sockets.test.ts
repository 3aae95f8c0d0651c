// What Node cannot parse as a request, and connections that are refused.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { buildApp } from '../../../src/app.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { listen, testApp, testConfig } from '../../support/app.js'
import { damagedText } from '../../support/damages.js'
import { getRequest, LAST, neverRead, receivedBy, send, statusesIn } from '../../support/sockets.js'
import { A } from '../../support/tenants.js'
import { runs } from '../../support/thorough.js'

/** The service of the tests that only ask, and its port. */
const { app, keyOf } = await testApp(t)
const port = await listen(app)

t.test(
  'garbage behind a response gets its problem, and while a request is under way it closes the connection',
  async (t) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(getRequest('/health/live'))
    await once(socket, 'data')
    socket.write('garbage\r\n\r\n')
    t.same(statusesIn(await receivedBy(socket)), [400])
    t.same(await send(port, `${getRequest('/health/live')}garbage\r\n\r\n`), '')
  },
)

t.test('an invalid body closes the connection after the response to its request', async (t) => {
  const head = 'POST /v1/entries HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
  t.same(statusesIn(await send(port, `${head}garbage\r\n\r\n`)), [405])
})

t.test('a wrong method is told also to a caller who sends scheme and host', async (t) => {
  for (const [target, status] of [
    ['http://x/v1/entries', 405],
    ['HTTP://x:80/openapi.json?x', 405],
    ['http://x/v1', 404],
    ['http://x', 404],
  ] as const) {
    const received = await send(port, `POST ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    t.same(statusesIn(received), [status], target)
  }
})

t.test('a request of a version that Node does not know gets the same problem as one of HTTP/2', async (t) => {
  for (const version of ['HTTP/1.2', 'HTTP/3.0', 'HTTP/2.0']) {
    const received = await send(port, `GET /v1/me ${version}\r\nhost: x\r\n\r\n`)
    t.match(received, /^HTTP\/1.1 505 .*\r\ndate: .*"code":"http_version_not_supported"/is, version)
    for (const name of ['cache-control', 'vary', 'x-content-type-options']) t.match(received, `\r\n${name}: `, name)
  }
})

t.test(
  'damaged requests get problems, or responses if they are requests still, and the next one is served',
  async (t) => {
    const headers = { authorization: `Bearer ${await keyOf(A)}` }
    const list = getRequest('/v1/projects?perPage=1&sortBy=name', headers)
    const post = 'POST /v1/projects HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
    await fc.assert(
      fc.asyncProperty(damagedText(list.repeat(2), list + post, getRequest('/openapi.json')), async (bytes) => {
        const received = await send(port, bytes, { half: true })
        t.match(received, /^$|^HTTP\/1\.1 /)
        for (const status of statusesIn(received)) t.ok(status < 500 || status === 505, received)
      }),
      { numRuns: runs(100, 300) },
    )
    t.same(statusesIn(await send(port, getRequest('/v1/projects', { ...headers, ...LAST }))), [200])
  },
)

t.test('refused connections are logged once for many', async (t) => {
  const lines: { msg: string; connections?: number }[] = []
  const log = { write: (line: string) => lines.push(JSON.parse(line)) }
  const app = await buildApp({ ...testConfig({ MAX_CONNECTIONS: '16' }), logLevel: 'info' }, embeddedStore(), log)
  t.teardown(() => app.close())
  const port = await listen(app)
  let refused = 0
  app.server.on('drop', () => {
    refused += 1
  })
  for (let i = 0; i < 20; i++) {
    const socket = await neverRead(port, '')
    t.teardown(() => socket.destroy())
  }
  while (refused < 4) await setTimeout(5)
  t.match(
    lines.filter(({ msg }) => /refused/.test(msg)),
    [{ connections: 16 }],
  )
  t.equal(lines.filter(({ msg }) => /refused/.test(msg)).length, 1)
})
