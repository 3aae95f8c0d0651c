// What one caller can do to others: the started process before a stand-in database that holds back its replies, so that what
// is under way can be counted. The benchmark measures the same attacks on a server.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeKey } from '../../src/core/keys/format.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { printed, startProgram } from '../support/process.js'
import { getRequest, LAST, send, statusesIn } from '../support/sockets.js'
import { databaseOn } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'
import { WireServer } from '../support/wire-server.js'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** The started process before a stand-in, and what asks it with a key of an organisation. */
const start = async (t: Test) => {
  const server = await WireServer.for(t)
  await fillTenants(server.store)
  const keys = keysOf(server.store, () => {})
  const [attacker, other] = await Promise.all([A, B].map((organisation) => keys.issue({ organisation, name: 'Test' })))
  // Reads that run while the server is lost have longer than a busy machine takes.
  const patient = `${server.uri}?serverSelectionTimeoutMS=60000&waitQueueTimeoutMS=60000`
  const settings = { PORT: '0', MONGODB_URI: patient, ENSURE_INDEXES: 'false' }
  const child = startProgram(t, 'src/server.ts', { settings })
  const [, port] = await printed(child, /field-data-api on http:\/\/127\.0\.0\.1:(\d+)/)
  const ask = async (key: string | undefined, path: string): Promise<string> =>
    send(Number(port), getRequest(path, { ...bearer(key as string), ...LAST }))
  const sockets: Socket[] = []
  const hangUp = () => {
    for (const socket of sockets.splice(0)) socket.destroy()
  }
  t.teardown(hangUp)
  /** Sends a request on a connection of its own, and does not read. */
  const call = async (key: string | undefined, path: string): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(getRequest(path, bearer(key as string)))
    return socket
  }
  const sent = (collection: string) => server.commands.filter(({ aggregate }) => aggregate === collection).length
  /** Waits until no further command arrives. */
  const settled = async () => {
    for (let before = -1; before !== server.commands.length; ) {
      before = server.commands.length
      await setTimeout(100)
    }
  }
  /** Holds back the replies to a command until the function is called. */
  const hold = (command: string): (() => void) => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.held.set(command, held)
    return () => {
      server.held.delete(command)
      release()
    }
  }
  return { server, ask, call, hangUp, sent, settled, hold, attacker, other }
}

t.test('one process is attacked in each of these ways, one after the other', { skip: leftToGate }, async (t) => {
  const started = await start(t)

  t.test('after a lost connection all reads are tried again at once', async (t) => {
    const { server, ask, sent, hold, other } = started
    t.same(statusesIn(await ask(other, '/v1/entries')), [200])
    // A key with more of them may be refused while the machine is busy.
    const reads = 7
    const lose = async () => {
      const before = sent('entries')
      const began = performance.now()
      hold('aggregate entries')
      let areOver = false
      const lost = Promise.all(Array.from({ length: reads }, (_, n) => ask(other, `/v1/entries/unknown${n}`))).finally(
        () => {
          areOver = true
        },
      )
      while (!areOver && sent('entries') < before + reads) await setTimeout(1)
      t.equal(sent('entries'), before + reads)
      const release = hold('aggregate entries')
      server.disconnect()
      // If they came one after the other, they would fail: each waits for its reply.
      while (!areOver && sent('entries') < before + 2 * reads) await setTimeout(20)
      const ms = performance.now() - began
      release()
      return { ms, statuses: (await lost).flatMap(statusesIn) }
    }
    // A read is tried again only for a second after it began, which counts where a busy machine has not taken longer.
    let found = await lose()
    for (let tries = 1; tries < 10 && found.ms > 1000; tries++) found = await lose()
    t.same(found.statuses, Array(reads).fill(404))
  })

  t.test('a key that asks and leaves has no more requests under way than one that stays', async (t) => {
    const { ask, call, sent, settled, hold, attacker } = started
    const ways = [
      // A key runs half of the small tasks at once: a page, or a record with what it refers to.
      { collection: 'entries', path: (n: number) => `/v1/entries?perPage=1&status=s${n}`, most: 16 },
      // No index serves it, so the page is large itself, and its count is a part of it.
      {
        collection: 'entries',
        path: (n: number) => `/v1/entries?perPage=1&idFrom=a&createdSince=2000-01-01T00:00:${n}Z`,
        most: 2,
      },
      { collection: 'dispatches', path: () => `/v1/dispatches/${a.dispatch(1)._id}`, most: 16 },
    ]
    for (const { collection, path, most } of ways) {
      t.same(statusesIn(await ask(attacker, path(10))), [200])
      const before = sent(collection)
      const release = hold(`aggregate ${collection}`)
      for (let n = 10; n < 50; n++) {
        const socket = await call(attacker, path(n))
        await setTimeout(5)
        socket.destroy()
      }
      await settled()
      const underWay = sent(collection) - before
      t.ok(underWay > 0 && underWay <= most, `${collection}: ${underWay} commands are under way`)
      release()
      t.same(statusesIn(await ask(attacker, path(55))), [200], 'its places are free again')
    }
  })

  t.test('a flood of unknown keys fails no request of a valid one', async (t) => {
    const { ask, call, settled, hold, hangUp, other } = started
    t.teardown(hangUp)
    t.same(statusesIn(await ask(other, '/v1/entries')), [200])
    const releaseKeys = hold('aggregate apiKeys')
    const flood = Array.from({ length: 700 }, () => call(makeKey(), '/v1/entries'))
    const sockets = await Promise.all(flood)
    const more = Array.from({ length: 8 }, async () => {
      const requests = Array.from({ length: 80 }, () => getRequest('/v1/entries', bearer(makeKey())))
      const socket = (await call(makeKey(), '/v1/entries')) as Socket
      socket.write(requests.join(''))
      return socket
    })
    await Promise.all(more)
    await settled()
    const releasePages = hold('aggregate entries')
    const pages = [1, 2, 3].map((n) => ask(other, `/v1/entries?perPage=${n}00`))
    await setTimeout(200)
    releasePages()
    for (const page of pages) t.same(statusesIn(await page), [200], 'a request that waits for its turn goes on')
    const answers = sockets.map(async (socket) => String((await once(socket, 'data'))[0]))
    releaseKeys()
    const statuses = (await Promise.all(answers)).flatMap(statusesIn)
    t.equal(statuses.length, sockets.length)
    for (const status of new Set(statuses)) t.ok([401, 503].includes(status), String(status))
  })
})

const uri = process.env.TEST_MONGODB_URI
t.test(
  'five keys of an organisation leave places to wait for others',
  { skip: uri ? false : 'the stand-in knows no unions, so it needs the server of TEST_MONGODB_URI' },
  async (t) => {
    const { uri: database, store } = await databaseOn(t, uri as string)
    await fillTenants(store)
    const keys = keysOf(store, () => {})
    const issue = (organisation: string) => keys.issue({ organisation, name: 'Test' })
    const many = await Promise.all(Array.from({ length: 5 }, () => issue(A)))
    const other = await issue(B)
    const settings = { PORT: '0', MONGODB_URI: database, ENSURE_INDEXES: 'false', SYNC_SETTLE_MS: '0' }
    const child = startProgram(t, 'src/server.ts', { settings })
    const [, port] = await printed(child, /field-data-api on (http:\/\/127\.0\.0\.1:\d+)/)
    const poll = (key: string, query: string) =>
      fetch(`${port}/v1/sync/forms?${query}`, { headers: bearer(key) }).then(async (response) => ({
        status: response.status,
        body: (await response.json()) as { _metadata: { nextCursor: string } },
      }))
    const cursorOf = async (key: string) => (await poll(key, 'cursor=*')).body._metadata.nextCursor
    const [own, others] = [await cursorOf(many[0] as string), await cursorOf(other)]
    let refused = 0
    const waits = many.flatMap((key) =>
      Array.from({ length: 100 }, async () => {
        const { status } = await poll(key, `wait=60&cursor=${own}`)
        if (status === 503) refused += 1
      }),
    )
    while (refused < 250) await setTimeout(20)
    t.equal((await poll(other, `wait=1&cursor=${others}`)).status, 200)
    child.kill('SIGTERM')
    await Promise.allSettled(waits)
  },
)
