// The process under hostile conditions: a log that cannot be written, responses that nobody reads, a key that requests
// everything, more connections than files.
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { printed, startProgram } from '../support/process.js'
import { getRequest, LAST, neverRead, send, statusesIn } from '../support/sockets.js'

// Most of the time goes by in waiting for time limits.
t.jobs = 3

/** Starts the service with its demo data: its port, and the keys of its two organisations. */
const startDemo = async (t: Test, settings: Record<string, string> = {}, options: { openFiles?: number } = {}) => {
  const child = startProgram(t, 'src/server.ts', { settings: { PORT: '0', ...settings }, ...options })
  const [banner, port] = await printed(child, /field-data-api on http:\/\/127\.0\.0\.1:(\d+).*Key .*Key .*\n/s)
  const keys = [...(banner as string).matchAll(/Key {3}(\S+)/g)].map(([, key]) => ({ authorization: `Bearer ${key}` }))
  return { child, port: Number(port), keys: keys as [{ authorization: string }, { authorization: string }] }
}

const PAGE = '/v1/entries?perPage=1000'

/** A port that nothing listens on. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

const isServed = (port: number): Promise<boolean> =>
  send(port, getRequest('/health/live', LAST)).then(
    (received) => statusesIn(received)[0] === 200,
    () => false,
  )

for (const [name, stdout, readers] of [
  ['on a full disk', '/dev/full', () => {}],
  ['whose reader has stopped', undefined, (stdout: Readable) => stdout.pause()],
  ['whose reader has gone', undefined, (stdout: Readable) => stdout.destroy()],
] as const) {
  t.test(`a log ${name} stops neither requests nor the shutdown`, async (t) => {
    const port = await freePort()
    const settings = { PORT: String(port), LOG_LEVEL: 'info' }
    const child = startProgram(t, 'src/server.ts', { settings, ...(stdout && { stdout }) })
    while (!(await isServed(port))) await setTimeout(100)
    if (child.stdout !== null) readers(child.stdout)
    // More lines than a pipe holds.
    for (let served = 0; served < 2000; served += 100) {
      const all = await Promise.all(Array.from({ length: 100 }, () => isServed(port)))
      t.same(new Set(all), new Set([true]))
    }
    child.kill('SIGTERM')
    t.same(await once(child, 'exit'), [0, null])
  })
}

const skip = process.platform === 'linux' ? false : 'memory and files are read from /proc, which only Linux has'
t.test(
  'responses that nobody reads use no more than their budget, and their connections are closed',
  { skip },
  async (t) => {
    const { child, port, keys } = await startDemo(t, { RESPONSE_MEMORY_MB: '64', LOG_LEVEL: 'silent' })
    const [neverReads, other] = keys
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
    t.same(statusesIn(await send(port, getRequest(PAGE, { ...other, ...LAST }))), [200])
    const before = memory()
    const openFiles = () => readdirSync(`/proc/${child.pid}/fd`).length
    const filesBefore = openFiles()
    const sockets: Socket[] = []
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
    })
    // Each has 20 pages of more than a megabyte.
    for (let i = 0; i < 60; i++) {
      sockets.push(await neverRead(port, getRequest(PAGE, neverReads).repeat(20)))
      await setTimeout(50)
    }
    t.same(statusesIn(await send(port, getRequest(PAGE, { ...other, ...LAST }))), [200], 'another key is served')
    t.ok(memory() - before < 300, `${Math.round(memory() - before)} MiB more`)
    while (openFiles() > filesBefore) await setTimeout(500)
    t.ok(memory() - before < 300, `${Math.round(memory() - before)} MiB more`)
    let status: number | undefined
    do {
      await setTimeout(500)
      status = statusesIn(await send(port, getRequest(PAGE, { ...neverReads, ...LAST })))[0]
    } while (status === 503)
    t.equal(status, 200, 'the key is served again')
  },
)

t.test('hundreds of pages for one key do not delay another key', async (t) => {
  const { port, keys } = await startDemo(t, { LOG_LEVEL: 'silent' })
  const [neighbour, other] = keys
  const [list] = JSON.parse(
    (await send(port, getRequest('/v1/entries?perPage=1', { ...other, ...LAST }))).split('\r\n\r\n')[1] as string,
  ).data
  let pages = 0
  const callers = Array.from({ length: 8 }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(getRequest(PAGE, neighbour).repeat(50)))
    socket.on('data', (chunk) => {
      pages += statusesIn(chunk.toString('latin1')).length
    })
    socket.on('error', () => {})
    return socket
  })
  t.teardown(() => {
    for (const socket of callers) socket.destroy()
  })
  while (pages < 2) await setTimeout(5)
  for (let i = 0; i < 5; i++) {
    const received = await send(port, getRequest(`/v1/entries/${list.id}`, { ...other, ...LAST }))
    t.same(statusesIn(received), [200])
  }
  t.ok(pages < 200, `${pages} of 400 pages came before five records of the other key`)
})

t.test('new callers are served although there are more connections than files', async (t) => {
  const { child, port } = await startDemo(t, { LOG_LEVEL: 'info' }, { openFiles: 256 })
  await printed(child, /"connections":192/)
  const sockets = Array.from({ length: 600 }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    return socket
  })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  await once(sockets[0] as Socket, 'connect')
  let served = ''
  while (served === '') {
    served = await send(port, getRequest('/health/live', LAST)).catch(() => '')
    await setTimeout(100)
  }
  t.same(statusesIn(served), [200])
  t.match(child.output(), /connections are refused/)
})
