// The HTTP server alone: one request of a connection at a time, and idle connections are closed.
import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { cutOffAll, httpServer, openConnections, stopListening } from '../../../src/core/http/server.js'
import { getRequest, idleClosed, LAST, neverRead, receivedBy, send, statusesIn } from '../../support/sockets.js'

const serve = async (
  t: Test,
  listener: RequestListener,
  { maxConnections = 100, idleMs }: { maxConnections?: number; idleMs?: number } = {},
) => {
  const server = httpServer(listener, maxConnections, idleMs)
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1000 })
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port }
}

t.test('a request starts when the response before it is written', async (t) => {
  const events: string[] = []
  const { port } = await serve(t, async ({ url }, response) => {
    events.push(`begin ${url}`)
    response.once('finish', () => events.push(`end ${url}`))
    await setTimeout(url === '/0' ? 50 : 0)
    response.end(url)
  })
  await send(port, ['/0', '/1'].map((path) => getRequest(path)).join('') + getRequest('/2', LAST))
  t.same(events, ['begin /0', 'end /0', 'begin /1', 'end /1', 'begin /2', 'end /2'])
})

t.test('a connection with more than 100 waiting requests is closed', async (t) => {
  const begun: (string | undefined)[] = []
  const { port } = await serve(t, ({ url }, response) => {
    begun.push(url)
    if (url === '/most') response.end()
  })
  const most = await neverRead(port, getRequest('/').repeat(101))
  t.same(statusesIn(await send(port, getRequest('/most', LAST))), [200])
  t.notOk(most.closed)
  t.equal(await send(port, getRequest('/').repeat(102)), '')
  most.destroy()
  t.same(begun, ['/', '/most', '/'])
})

t.test('waiting requests are dropped when their caller disconnects', async (t) => {
  const requests = new EventEmitter()
  const begun: unknown[] = []
  const { port } = await serve(t, ({ url }, response) => {
    begun.push(url)
    if (url === '/2') return response.end()
    response.once('close', () => requests.emit('close'))
    requests.emit('begin')
  })
  const began = once(requests, 'begin')
  const socket = await neverRead(port, getRequest('/0') + getRequest('/1'))
  await began
  const closed = once(requests, 'close')
  socket.destroy()
  await closed
  await send(port, getRequest('/2', LAST))
  t.same(begun, ['/0', '/2'])
})

t.test('a caller that closes its half of the connection has gone', async (t) => {
  const begun: unknown[] = []
  const { port } = await serve(t, ({ url }, response) => {
    begun.push(url)
    response.once('close', () => begun.push('closed'))
  })
  t.equal(await send(port, getRequest('/0') + getRequest('/1'), { half: true }), '')
  t.same(begun, ['/0', 'closed'])
})

t.test('a request with an Upgrade header gets its response, and the connection is closed', async (t) => {
  const { port } = await serve(t, ({ url }, response) => response.end(url))
  const upgrade = { connection: 'upgrade', upgrade: 'h2c' }
  const received = await send(port, getRequest('/0', upgrade) + getRequest('/1'))
  t.same(statusesIn(received), [200])
  t.match(received, /connection: close\r\n.*\/0$/is)
})

t.test('a connection without a request is closed after the idle time', async (t) => {
  const { port } = await serve(t, (_request, response) => response.end(), { idleMs: 50 })
  t.equal(await send(port, ''), '')
})

t.test('a slow request keeps its connection', async (t) => {
  const { port } = await serve(
    t,
    async (_request, response) => {
      await send(port, '') // as long as a connection may be idle
      response.end()
    },
    { idleMs: 500 },
  )
  t.same(statusesIn(await send(port, getRequest('/', LAST))), [200])
})

t.test('the connection of a caller that does not read is closed', async (t) => {
  const { server, port } = await serve(t, (_request, response) => response.end(Buffer.alloc(50_000_000)), {
    idleMs: 50,
  })
  const connected = once(server, 'connection')
  const socket = await neverRead(port, getRequest('/'))
  t.teardown(() => socket.destroy())
  const [connection] = await connected
  await once(connection, 'close')
  t.ok(socket.bytesRead < 50_000_000, 'the response was not read')
})

t.test('at the limit, connections without a request are closed', async (t) => {
  const { port } = await serve(t, (_request, response) => response.end(), { maxConnections: 2 })
  const kept = connect(port, '127.0.0.1')
  kept.write(getRequest('/'))
  await once(kept, 'data')
  const closed = once(kept, 'close')
  const half = await neverRead(port, 'GET / HT')
  await closed
  t.same(statusesIn(await send(port, getRequest('/', LAST))), [200], 'a new caller is served')
  half.destroy()
})

t.test('a response that is still to be sent is no idle connection', async (t) => {
  const { server, port } = await serve(t, (_request, response) => response.end(Buffer.alloc(20_000_000)), {
    maxConnections: 2,
  })
  const closesIdle = idleClosed(server)
  const answered = once(server, 'request')
  const slow = await neverRead(port, getRequest('/', LAST))
  await answered
  const other = await neverRead(port, '')
  await closesIdle
  other.destroy()
  t.ok((await receivedBy(slow)).length > 20_000_000)
})

t.test('what runs can be cut off, and HTTP/1.0 is told by a reset', async (t) => {
  const { server, port } = await serve(t, (_request, response) => response.write('a part'))
  const ends: unknown[] = []
  const sockets: Socket[] = []
  for (const version of ['1.0', '1.1']) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', ({ code }: NodeJS.ErrnoException) => ends.push(code))
    socket.write(getRequest('/').replace('HTTP/1.1', `HTTP/${version}`))
    await once(socket, 'data')
    sockets.push(socket)
  }
  const idle = connect(port, '127.0.0.1')
  await once(server, 'connection')
  t.equal(openConnections(server), 3)
  t.equal(openConnections(createServer()), 0, 'another server has none of them')
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  cutOffAll(server)
  cutOffAll(createServer())
  await Promise.all(closed)
  t.same(ends, ['ECONNRESET'])
  t.notOk(idle.destroyed)
  idle.destroy()
})

t.test('when it stops listening, it serves every connection that the system has accepted', async (t) => {
  const { server, port } = await serve(t, (_request, response) => void response.end())
  const sockets = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'))
  const received = sockets.map(async (socket) => {
    socket.write(getRequest('/', LAST))
    return String((await once(socket, 'data'))[0])
  })
  await once(sockets[0] as Socket, 'connect')
  const accepted = await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
  t.ok(Number(accepted) < sockets.length, 'some are not taken over yet')
  const stopped = stopListening(server)
  t.same(
    statusesIn((await Promise.all(received)).join()),
    sockets.map(() => 200),
  )
  await stopped
  t.notOk(server.listening)
  await t.rejects(send(port, getRequest('/', LAST)), { code: 'ECONNREFUSED' })
})

t.test('while connections come in a row, their first requests wait, but not for ever', async (t) => {
  const openAt: number[] = []
  const listener: RequestListener = (_request, response) => {
    openAt.push(openConnections(server))
    response.end()
  }
  const { server, port } = await serve(t, listener, { maxConnections: 1000 })
  const sockets = Array.from({ length: 700 }, () => connect(port, '127.0.0.1'))
  const received = sockets.map(async (socket) => {
    socket.write(getRequest('/'))
    return String((await once(socket, 'data'))[0])
  })
  const statuses = statusesIn((await Promise.all(received)).join())
  for (const socket of sockets) socket.destroy()
  t.same(
    statuses,
    sockets.map(() => 200),
  )
  t.ok(openAt.filter((count) => count < 400).length < 10, 'few begin at once')
  t.ok(openAt.filter((count) => count < 690).length > 20, 'they do not wait for all')
})

t.test('a request whose caller leaves while it waits for other connections does not begin', async (t) => {
  let begun = 0
  const { server, port } = await serve(t, (_request, response) => {
    begun += 1
    response.end()
  })
  const sockets = Array.from({ length: 40 }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  for (const socket of sockets) socket.end(getRequest('/'), () => socket.destroy())
  while (openConnections(server) < 1) await nextTurn()
  while (openConnections(server) > 0) await nextTurn()
  t.ok(begun < 10, `${begun} began`)
  t.match(await send(port, getRequest('/', LAST)), /^HTTP\/1.1 200 /, 'others are served')
})

t.test('it does not stop listening at the end of a long turn, in which connections come unseen', async (t) => {
  const { server, port } = await serve(t, (_request, response) => response.end())
  const received: Promise<string>[] = []
  /** Long turns of the event loop, in which nothing comes; at last a connection does, just before the server looks. */
  const longTurns = async () => {
    for (let turn = 1; turn <= 5; turn++) {
      await nextTurn()
      for (const begun = performance.now(); performance.now() < begun + 15; );
      if (turn === 5) received.push(send(port, getRequest('/', LAST)))
    }
  }
  await Promise.all([longTurns(), stopListening(server)])
  t.same(statusesIn((await Promise.all(received)).join()), [200])
  t.notOk(server.listening)
})
