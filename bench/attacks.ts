// What one organisation can do to another: an entry by id, one request at a time, alone and beside each attack. And how
// long requests take to fail when the database is away. On the server, with `npm run bench -- --attacks`.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { seedData } from '../seed/index.js'
import type { AgentDocument, DispatchDocument, EntryDocument } from '../src/documents/collections.js'
import { UNKNOWN_KEYS } from './callers.js'
import { addressOf, issueKey, open, withDatabase } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCallers, startLoad } from './processes.js'
import { quantiles } from './timing.js'

const ENTRIES = 100_000
const RECIPIENTS = 20_000
const UNKNOWN_RECIPIENTS = 100_000
/** A page of these is 20 MB. */
const WIDE = { count: 1000, bytes: 20_000 }
const HEAVY_BYTES = 3_000_000
const KEYS = 5
const AT_ONCE = 16
const BEFORE_MS = 500
const AFTER_MS = 3000

export interface Attacks {
  /** Times in milliseconds; `failed` turns have none. */
  rows: { name: string; p50: number; p99: number; slowest: number; failed: number }[]
}

/** Fills the database with two organisations, unless it is there. Returns the keys of the attacker and that of the other. */
const prepare = async (uri: string, say: (text: string) => void) => {
  const store = open(uri)
  try {
    const seeded = [...seedData({ seed: 42, organisations: 2, dispatches: 40, entries: ENTRIES })]
    const [attacker, other] = seeded.flatMap(({ collection, documents }) =>
      collection === 'organisations' ? documents.map(({ _id }) => _id) : [],
    ) as [string, string]
    if ((await store.dangerouslyFind('seeds', 'attacks')) === undefined) {
      for (const { collection, documents } of seeded)
        await store.insert(collection, documents as never, { skipTaken: true })
      // The seed has documents of all collections in one list, so the caller names the type.
      const sample = <T>(name: string): T =>
        seeded.find(({ collection }) => collection === name)?.documents[0] as unknown as T
      const agents = Array.from(
        { length: RECIPIENTS },
        (_, n): AgentDocument => ({
          ...sample<AgentDocument>('agents'),
          _id: `crowd-${n}`,
          organisation: attacker,
        }),
      )
      for (let at = 0; at < RECIPIENTS; at += 1000) await store.upsert('agents', agents.slice(at, at + 1000))
      const dispatch = (_id: string, ids: string[]): DispatchDocument => ({
        ...sample<DispatchDocument>('dispatches'),
        _id,
        organisation: attacker,
        recipients: { agents: ids, agentGroups: [] },
      })
      await store.upsert('dispatches', [
        dispatch(
          'crowd',
          agents.map(({ _id }) => _id),
        ),
        dispatch(
          'strangers',
          Array.from({ length: UNKNOWN_RECIPIENTS }, (_, n) => `stranger-${n}`),
        ),
      ])
      const entry = (organisation: string, _id: string, bytes: number): EntryDocument => ({
        ...sample<EntryDocument>('entries'),
        _id,
        organisation,
        dispatch: 'wide',
        answers: [{ type: 'text', question: 'Why?', answer: 'x'.repeat(bytes) }],
      })
      await store.upsert('entries', [entry(attacker, 'heavy', HEAVY_BYTES)])
      for (const owner of [attacker, other]) {
        const wide = Array.from({ length: WIDE.count }, (_, n) => entry(owner, `wide-${owner}-${n}`, WIDE.bytes))
        for (let at = 0; at < wide.length; at += 100) await store.upsert('entries', wide.slice(at, at + 100))
      }
      await store.ensureIndexes()
      await store.insert('seeds', [{ _id: 'attacks', createdAt: new Date() }])
      say('bench-attacks is ready')
    }
    const keys = await Promise.all(Array.from({ length: KEYS }, () => issueKey(store, attacker)))
    return { keys, key: await issueKey(store, other) }
  } finally {
    await store.close()
  }
}

/** Stands between the service and its server, and refuses or swallows what is sent when it is told to. */
const startProxy = async (host: string, port: string) => {
  let isSilent = false
  const sockets = new Set<Socket>()
  const proxy = createServer((socket) => {
    const server = connect(Number(port), host)
    for (const [one, two] of [
      [socket, server],
      [server, socket],
    ] as const) {
      sockets.add(one)
      one.on('data', (bytes) => isSilent || two.write(bytes))
      one.on('error', () => {})
      one.on('close', () => two.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    hang: () => {
      isSilent = true
    },
    refuse: () => {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const row = (name: string, times: readonly number[]) => ({
  name,
  ...quantiles(times),
  slowest: Math.max(...times),
  failed: times.filter((time) => time === Number.POSITIVE_INFINITY).length,
})

export const attacks = async (server: string, ms: number, say: (text: string) => void): Promise<Attacks> => {
  const uri = withDatabase(server, 'bench-attacks')
  const { keys, key } = await prepare(uri, say)
  const load = startLoad()
  const rows: Attacks['rows'] = []
  const add = (name: string, times: readonly number[]) => {
    const measured = row(name, times)
    rows.push(measured)
    const { p50, p99, slowest, failed } = measured
    say(`${name}: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, slowest ${slowest.toFixed(0)} ms, failed ${failed}`)
  }

  const service = await startService({ key }, { uri })
  const { data } = (await service.get('/v1/entries?perPage=1')) as { data: { id: string }[] }
  const byId = () =>
    service.times(load, `/v1/entries/${data[0]?.id}`, ms).catch((): number[] => [Number.POSITIVE_INFINITY])
  const timed = async (path: string): Promise<number> => {
    const start = performance.now()
    return service.get(path).then(
      () => performance.now() - start,
      () => Number.POSITIVE_INFINITY,
    )
  }
  const widePage = '/v1/entries?dispatch=wide&perPage=1000'
  const counts = Array.from(
    { length: 64 },
    (_, n) => `/v1/entries?perPage=1&createdSince=2000-01-01T00:00:${n % 60}.${n}Z`,
  )
  const all = { keys: keys.slice(0, 1), callers: AT_ONCE, pipelined: 1 }
  const leaving = { ...all, leaveAfterMs: 15 }
  const beside: [
    string,
    Parameters<ReturnType<typeof startCallers>['begin']>[0] extends infer L ? Omit<L, 'port'> : never,
  ][] = [
    ['counts, leaving after 15 ms', { ...leaving, paths: counts }],
    ['20,000 recipients, leaving after 15 ms', { ...leaving, paths: ['/v1/dispatches/crowd'] }],
    ['unknown keys', { ...all, keys: [UNKNOWN_KEYS], callers: 64, pipelined: 20, paths: ['/v1/entries/x'] }],
    ['a record of 3 MB', { ...all, paths: ['/v1/entries/heavy'] }],
    ['100,000 unknown recipients', { ...all, paths: ['/v1/dispatches/strangers'] }],
    ['20,000 recipients', { ...all, paths: ['/v1/dispatches/crowd'] }],
    ['pages of 20 MB by four keys', { ...all, keys: keys.slice(0, 4), paths: [widePage] }],
  ]
  await byId()
  add('entry by id, alone', await byId())
  for (const [name, attack] of beside) {
    const callers = startCallers()
    await callers.begin({ ...attack, port: service.port })
    await sleep(BEFORE_MS)
    add(`entry by id beside ${name}`, await byId())
    if (attack.paths[0] === widePage)
      add('a page of 20 MB of its own beside them', [await timed(widePage), await timed(widePage)])
    await callers.end()
    await sleep(AFTER_MS)
  }
  add('a page of 20 MB, alone', [await timed(widePage), await timed(widePage)])

  const feed = '/v1/sync/forms?wait=60&cursor='
  const cursorOf = async (each: string) => {
    const response = await fetch(`${service.url}/v1/sync/forms?perPage=1000`, {
      headers: { authorization: `Bearer ${each}` },
    })
    return ((await response.json()) as { _metadata: { nextCursor: string } })._metadata.nextCursor
  }
  await sleep(11_000) // everything has settled
  const waiting = startCallers()
  await waiting.begin({
    ...all,
    keys,
    callers: 100 * KEYS,
    paths: [feed + (await cursorOf(keys[0] as string))],
    port: service.port,
  })
  await sleep(2000)
  add('a wait of 1 s beside 500 of another organisation', [
    await timed(`/v1/sync/forms?wait=1&cursor=${await cursorOf(key)}`),
  ])
  await waiting.end()
  await service.stop()

  for (const way of ['refuse', 'hang'] as const) {
    const proxy = await startProxy(...addressOf(server))
    const behind: Server = await startService(
      { key },
      { uri: withDatabase(`mongodb://127.0.0.1:${proxy.port}/`, 'bench-attacks') },
    )
    await behind.get('/v1/entries?perPage=1')
    proxy[way]()
    const times = Array.from({ length: AT_ONCE }, async (_, n) => {
      const start = performance.now()
      const response = await fetch(`${behind.url}/v1/entries?perPage=${n + 1}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      await response.text()
      return response.status === 503 ? performance.now() - start : Number.POSITIVE_INFINITY
    })
    add(
      `503 while the database ${way === 'refuse' ? 'refuses connections' : 'hangs'}, ${AT_ONCE} at once`,
      await Promise.all(times),
    )
    await behind.stop()
    proxy.refuse()
  }
  return { rows }
}
