// The process under hostile conditions: responses that nobody reads, and more connections than files. The limits of a key and
// of a connection are tested with their plugins and with the server; a log that cannot be written, with the log.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { printed, startProgram } from '../test/support/process.js'
import { getRequest, LAST, neverRead, send, statusesIn } from '../test/support/sockets.js'

const PAGE = '/v1/entries?perPage=1000'

const skip = process.platform === 'linux' ? false : 'memory is read from /proc, which only Linux has'
t.test('callers that exhaust memory or files do not stop the service for others', { skip }, async (t) => {
  const child = startProgram(t, 'src/server.ts', {
    settings: { PORT: '0', RESPONSE_MEMORY_MB: '64' },
    openFiles: 256,
  })
  const [banner, text] = await printed(child, /field-data-api on http:\/\/127\.0\.0\.1:(\d+).*Key .*Key .*\n/s)
  const port = Number(text)
  const [neverReads, other] = [...banner.matchAll(/Key {3}(\S+)/g)].map(([, key]) => ({
    authorization: `Bearer ${key}`,
  }))
  const statusOf = async (path: string, headers = {}) =>
    statusesIn(await send(port, getRequest(path, { ...headers, ...LAST })))[0]
  const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })

  await t.test('responses that nobody reads use no more than their budget, and other keys are served', async (t) => {
    t.equal(await statusOf(PAGE, other), 200)
    const before = memory()
    // Each has 50 pages of more than a megabyte. Together they are more than a gigabyte.
    for (let i = 0; i < 24; i++) sockets.push(await neverRead(port, getRequest(PAGE, neverReads).repeat(50)))
    for (let i = 0; i < 5; i++) t.equal(await statusOf('/v1/entries?perPage=1', other), 200, 'another key is served')
    // It waits behind the others for its turn, or until it has waited too long.
    t.ok([200, 503].includes((await statusOf(PAGE, neverReads)) as number))
    t.equal(await statusOf(PAGE, other), 200, 'another key is served')
    t.ok(memory() - before < 300, `${Math.round(memory() - before)} MiB more`)
  })

  await t.test('new callers are served although there are more connections than files', async () => {
    await printed(child, /"connections":192/)
    const idle = Array.from({ length: 600 }, () => connect(port, '127.0.0.1').on('error', () => {}))
    sockets.push(...idle)
    await once(idle[0] as Socket, 'connect')
    const isServed = () =>
      statusOf('/health/live').then(
        (status) => status === 200,
        () => false,
      )
    while (!(await isServed())) await setTimeout(20)
    await printed(child, /connections are refused/)
  })
})
