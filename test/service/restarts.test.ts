// Restarts under load behind HAProxy: each instance in turn is stopped, or killed, and started again. RESTARTS says how often.
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { keysOf } from '../../src/keys/keys.js'
import { isWithoutProxy, shutdownDelayMs, startProxy } from '../support/haproxy.js'
import { freePort, printed, type Started, startProgram } from '../support/process.js'
import { databaseOn } from '../support/store.js'
import { A, fillTenants } from '../support/tenants.js'

const server = process.env.TEST_MONGODB_URI
const RESTARTS = Number(process.env.RESTARTS)
const isSkipped = server === undefined || isWithoutProxy || !RESTARTS
const options = {
  skip: isSkipped ? 'TEST_MONGODB_URI, HAPROXY_PATH and RESTARTS are not all set' : false,
  timeout: (RESTARTS * 20 + 60) * 1000,
}

t.test('no request fails while instances are stopped and started again', options, async (t) => {
  const { uri, store } = await databaseOn(t, String(server))
  await fillTenants(store)
  const authorization = `Bearer ${await keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })}`
  const ports = [await freePort(), await freePort()]
  const start = async (port: number | undefined): Promise<Started> => {
    const settings = { PORT: String(port), MONGODB_URI: uri, SHUTDOWN_DELAY_MS: String(shutdownDelayMs) }
    const child = startProgram(t, 'src/server.ts', { settings: { ...settings, ENSURE_INDEXES: 'false' } })
    await printed(child, /field-data-api on http/)
    return child
  }
  const services = await Promise.all(ports.map(start))
  const proxy = await startProxy(t, ports)

  let isOver = false
  const statuses: Record<number, number> = {}
  const calling = (async () => {
    while (!isOver) {
      const { status } = await fetch(`${proxy.url}/v1/entries`, { headers: { authorization } })
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  })()
  for (let n = 0; n < RESTARTS; n++) {
    const i = n % 2
    services[i]?.kill('SIGTERM')
    await proxy.until(i, 'DOWN')
    await once(services[i] as Started, 'exit')
    services[i] = await start(ports[i])
    await proxy.until(i, 'UP')
    await setTimeout(100)
  }
  isOver = true
  await calling
  t.comment(JSON.stringify({ statuses, instances: await proxy.instances() }))
  t.same(Object.keys(statuses), ['200'])
})
