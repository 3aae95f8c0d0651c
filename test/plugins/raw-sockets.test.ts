// What Node could not read as a request: its problem comes behind the responses to earlier requests.
import t from 'tap'
import { listen, testApp } from '../support/app.js'
import { getRequest, send, statusesIn } from '../support/sockets.js'
import { A } from '../support/tenants.js'

t.test('a line of garbage behind requests is told when they have their responses', async (t) => {
  const { app, keyOf } = await testApp(t)
  const port = await listen(app)
  const list = getRequest('/v1/entries', { authorization: `Bearer ${await keyOf(A)}` })
  t.same(statusesIn(await send(port, `${list.repeat(3)}garbage\r\n\r\n`)), [200, 200, 200, 400])
  t.same(statusesIn(await send(port, `${list.repeat(2)}CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n`)), [200, 200, 405])
})

t.test('garbage behind a large response does not stand within it', async (t) => {
  const { app } = await testApp(t)
  const port = await listen(app)
  const received = await send(port, `${getRequest('/docs/yaml')}garbage\r\n\r\n`)
  const [, length] = /content-length: (\d+)/.exec(received) as RegExpExecArray
  const body = received.indexOf('\r\n\r\n') + 4
  const behind = Buffer.from(received.slice(body)).subarray(Number(length)).toString()
  t.match(behind, /^HTTP\/1.1 400 .*"code":"bad_request"/s)
})

t.test('a body that breaks off ends the connection behind the response to its request', async (t) => {
  const { app } = await testApp(t)
  const port = await listen(app)
  const head = 'POST /v1/entries HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
  t.same(statusesIn(await send(port, `${head}garbage\r\n\r\n`)), [405])
})

t.test('a HEAD request that cannot be read gets no body', async (t) => {
  const { app } = await testApp(t)
  const port = await listen(app)
  const received = await send(port, `HEAD / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
  t.match(received, /^HTTP\/1.1 431 .*\r\n\r\n$/s)
  t.notMatch(received, 'success')
})
