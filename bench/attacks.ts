// What one organisation can do to another: an entry by id, one request at a time, and the health of the service, alone and
// beside each attack; and how much memory each takes. And how long requests take to fail when the database is away. On the
// server, with `npm run bench -- --attacks`.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { seedData } from '../seed/index.js'
import type { AgentDocument, DispatchDocument, EntryDocument, FormDocument } from '../src/core/documents/collections.js'
import { questionKey } from '../src/core/write/question-columns.js'
import { freePort } from '../test/support/process.js'
import { type NeighbourLoad, UNKNOWN_KEYS } from './callers.js'
import { addressOf, issueKey, open, withDatabase } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCallers, startLoad } from './processes.js'
import { quantiles, timedAlone } from './timing.js'
import { databaseName, usually } from './trial.js'

const ENTRIES = usually(100_000, 1000)
const RECIPIENTS = usually(20_000, 200)
const UNKNOWN_RECIPIENTS = usually(100_000, 1000)
/** A page of these is 20 MB. */
const WIDE = { count: usually(1000, 10), bytes: 20_000 }
const HEAVY_BYTES = 3_000_000
/** Two questions with as many choices in each of the entries of a form. */
const CHOICES = { entries: usually(200, 2), choices: 300 }
/** A question with so many choices beside one with a single choice. */
const UNEVEN = { entries: usually(35, 2), choices: usually(90_000, 900) }
const AGENTS = usually(100_000, 1000)
const PLACES = { count: usually(10_000, 100), characters: 1500 }
/** Answers to a question, all different. */
const DIFFERENT = { entries: usually(600, 6), answers: 1000 }
/** Answers whose type is a text of this length. */
const TYPES = { entries: usually(100, 1), characters: 1_000_000 }
/** Entries of 1.1 MB, of short answers to different questions. */
const LONG = { entries: usually(50, 2), answers: usually(11_000, 110) }
/** Numbers that answer one question, low and high in turns. */
const NUMBERS = { entries: usually(60, 2), answers: usually(10_000, 100) }
/** The entries of one agent. */
const BUSY = usually(400_000, 400)
/** The words of one answer. */
const WORDS = usually(700_000, 700)
/** Forms with one entry each. */
const SINGLE = usually(60_000, 600)
/** Entries that answer long questions by a number. One number is far from the others. */
const TEXTS = { entries: 30, questions: usually(2, 1), characters: 500_000 }
const QUESTIONS = ['First?', 'Second?'] as const
/** The id of the document in `seeds` that tells that everything is there. */
const COMPLETE = 'attacks-on-checks'
const KEYS = 5
const AT_ONCE = 16
const BEFORE_MS = 500
const SETTLE_MS = usually(11_000, 100)
/** How many times longer a slow attack is watched. */
const LONGER = 5
const LOOK_MS = 20
const AFTER_MS = usually(3000, 100)
/** How often each is asked beside the slowest work of others. */
const REPEATED = usually(30, 2)

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
    if ((await store.dangerouslyFind('seeds', COMPLETE)) === undefined) {
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
      const entry = (organisation: string, _id: string, fields: Partial<EntryDocument>): EntryDocument => ({
        ...{ ...sample<EntryDocument>('entries'), answers: [] },
        ...{ _id, organisation, ...fields },
      })
      const wide = (bytes: number) => ({
        ...{ dispatch: 'wide', answers: [{ type: 'text', question: 'Why?', answer: 'x'.repeat(bytes) }] },
      })
      const insert = async (organisation: string, name: string, count: number, fieldsOf: (n: number) => object) => {
        for (let at = 0; at < count; at += 100) {
          const some = Array.from({ length: Math.min(100, count - at) }, (_, n) =>
            entry(organisation, `${name}-${at + n}`, fieldsOf(at + n)),
          )
          await store.insert('entries', some, { skipTaken: true })
        }
      }
      await store.upsert('entries', [entry(attacker, 'heavy', wide(HEAVY_BYTES))])
      for (const owner of [attacker, other]) await insert(owner, `wide-${owner}`, WIDE.count, () => wide(WIDE.bytes))

      const form = (_id: string) => ({ ...sample<FormDocument>('forms'), _id, organisation: attacker })
      await store.upsert(
        'forms',
        ['even', 'uneven', 'many', 'places', 'different', 'types', 'long', 'numbers', 'words', 'texts'].map(form),
      )
      const answers = (...given: string[][]) =>
        given.map((answer, n) => ({ type: 'choices', question: QUESTIONS[n] as string, answer }))
      const choices = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `Choice number ${from + n}`)
      // Entries with equal answers would be counted as one.
      const even = (n: number) => answers(choices(CHOICES.choices, n), choices(CHOICES.choices))
      await insert(attacker, 'even', CHOICES.entries, (n) => ({ form: 'even', answers: even(n) }))
      const uneven = (n: number) => answers(choices(UNEVEN.choices), choices(1, n))
      await insert(attacker, 'uneven', UNEVEN.entries, (n) => ({ form: 'uneven', answers: uneven(n) }))
      await insert(attacker, 'many', AGENTS, (n) => ({ form: 'many', agent: `agent-${n}` }))
      const state = (n: number) => `${n} ${'x'.repeat(PLACES.characters)}`
      await insert(attacker, 'place', PLACES.count, (n) => ({ form: 'places', location: { state: state(n) } }))
      const different = (n: number) => answers(choices(DIFFERENT.answers, n * DIFFERENT.answers))
      await insert(attacker, 'different', DIFFERENT.entries, (n) => ({ form: 'different', answers: different(n) }))
      const type = 'x'.repeat(TYPES.characters)
      await insert(attacker, 'types', TYPES.entries, (n) => ({
        ...{ form: 'types', answers: [{ type: `${n} ${type}`, question: QUESTIONS[0], answer: 'Yes' }] },
      }))
      const long = Array.from({ length: LONG.answers }, (_, n) => ({
        type: 'number',
        question: `Number ${n}?`,
        answer: `${n}`,
      }))
      await insert(attacker, 'long', LONG.entries, () => ({ form: 'long', answers: long }))
      const numbers = Array.from({ length: NUMBERS.answers }, (_, n) => ({
        ...{ type: 'number', question: QUESTIONS[0], answer: `${n % 2 === 0 ? n : 1e6 - n}` },
      }))
      await insert(attacker, 'numbers', NUMBERS.entries, () => ({ form: 'numbers', answers: numbers }))
      const time = (n: number) => new Date(Date.UTC(2020) + n * 60_000)
      await insert(attacker, 'busy', BUSY, (n) => ({ dispatch: 'busy', agent: 'busy', createdAt: time(n) }))
      const words = {
        type: 'multiChoice',
        question: QUESTIONS[0],
        answer: Array.from({ length: WORDS }, (_, n) => `${n}`),
      }
      await insert(attacker, 'words', 1, () => ({ form: 'words', answers: [words] }))
      await insert(attacker, 'single', SINGLE, (n) => ({ dispatch: 'single', form: `single-${n}` }))
      const texts = Array.from({ length: TEXTS.questions }, (_, n) => `${n} ${'x'.repeat(TEXTS.characters)}`)
      const answered = (n: number) =>
        texts.map((question) => ({ type: 'number', question, answer: `${n === 0 ? 1e6 : n}` }))
      await insert(attacker, 'texts', TEXTS.entries, (n) => ({ form: 'texts', answers: answered(n) }))
      await store.ensureIndexes()
      await store.insert('seeds', [{ _id: COMPLETE, createdAt: new Date() }])
      say('the database of attacks is ready')
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

type Attack = [name: string, load: Omit<NeighbourLoad, 'port'>]

export const attacks = async (server: string, ms: number, say: (text: string) => void): Promise<Attacks> => {
  const uri = withDatabase(server, databaseName('attacks'))
  const { keys, key } = await prepare(uri, say)
  const load = startLoad()
  const rows: Attacks['rows'] = []
  const add = (name: string, times: readonly number[]) => {
    const measured = row(name, times)
    rows.push(measured)
    const { p50, p99, slowest, failed } = measured
    say(`${name}: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, slowest ${slowest.toFixed(0)} ms, failed ${failed}`)
  }

  const metricsPort = await freePort()
  const service = await startService({ key }, { uri, metricsPort })
  const { data } = (await service.get('/v1/entries?perPage=1')) as { data: { id: string }[] }
  const byId = (longer = 1) =>
    service.times(load, `/v1/entries/${data[0]?.id}`, longer * ms).catch((): number[] => [Number.POSITIVE_INFINITY])
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
  const [first, second] = QUESTIONS.map(questionKey)
  const anew = (path: string) =>
    Array.from({ length: 1000 }, (_, n) => `${path}&createdBefore=2100-01-01T00:00:00.${String(n).padStart(3, '0')}Z`)
  const twenty = Array.from({ length: 20 }, (_, n) => `${n}`).join()
  const checks = (filter: string) => `/v1/checks/agents?${filter}`
  const all = { keys: keys.slice(0, 1), callers: AT_ONCE, pipelined: 1 }
  const counting = { ...all, isTooMuch: true }
  const leaving = { ...all, leaveAfterMs: 15 }
  const beside: Attack[] = [
    ['counts, leaving after 15 ms', { ...leaving, paths: counts }],
    ['20,000 recipients, leaving after 15 ms', { ...leaving, paths: ['/v1/dispatches/crowd'] }],
    ['unknown keys', { ...all, keys: [UNKNOWN_KEYS], callers: 64, pipelined: 20, paths: ['/v1/entries/x'] }],
    ['a record of 3 MB', { ...all, paths: ['/v1/entries/heavy'] }],
    ['100,000 unknown recipients', { ...all, paths: ['/v1/dispatches/strangers'] }],
    ['20,000 recipients', { ...all, paths: ['/v1/dispatches/crowd'] }],
    ['pages of 20 MB by four keys', { ...all, keys: keys.slice(0, 4), paths: [widePage] }],
  ]
  /** Each takes seconds, so they are watched for longer. */
  const slow: Attack[] = [
    ['300 and 300 choices', { ...counting, paths: [`/v1/summaries/entries?form=even&by=${first},${second}`] }],
    ['90,000 choices and one', { ...counting, paths: [`/v1/summaries/entries?form=uneven&by=${first},${second}`] }],
    ['100,000 groups, counted anew', { ...counting, paths: anew('/v1/summaries/entries?form=many&by=agent') }],
    [
      '10,000 groups with long texts, by four keys eight at once',
      {
        ...{ ...counting, keys: keys.slice(0, 4), callers: 32 },
        paths: ['/v1/summaries/entries?form=places&by=location.state&top=10000'],
      },
    ],
    ['checks anew', { ...counting, paths: anew('/v1/checks/agents?form=many') }],
    ['two checks of 400,000 entries of an agent', { ...counting, callers: 2, paths: anew(checks('dispatch=busy')) }],
    ['600,000 numbers, checked', { ...counting, paths: anew(checks('form=numbers')) }],
    [
      '600,000 numbers, checked for what is repeated, without twenty answers',
      { ...counting, paths: anew(checks(`form=numbers&unique=${first}&questions=${first}&missing=${twenty}`)) },
    ],
    [
      '600,000 numbers, their percentiles',
      { ...counting, paths: anew(`/v1/summaries/entries?form=numbers&by=agent&measure=${first}`) },
    ],
    ['700,000 words, checked', { ...counting, paths: anew(checks('form=words')) }],
    ['700,000 words, their questions', { ...counting, paths: ['/v1/forms/words/questions'] }],
    ['60,000 forms of one entry', { ...counting, paths: anew(checks('dispatch=single')) }],
    ['texts of 500 KB', { ...counting, paths: anew(checks('form=texts')) }],
    ['600,000 different answers', { ...counting, paths: ['/v1/forms/different/questions'] }],
    ['types of 1 MB', { ...counting, paths: ['/v1/forms/types/questions'] }],
    ['entries of 1.1 MB, their questions', { ...counting, paths: ['/v1/forms/long/questions'] }],
    [
      'entries of 1.1 MB, an unknown question',
      { ...counting, paths: [`/v1/entries?form=long&answered=${'0'.repeat(12)}`] },
    ],
    ['entries of 1.1 MB, their columns', { ...counting, areFiles: true, paths: ['/v1/exports/entries.csv?form=long'] }],
    [
      '32 Parquet files by four keys',
      { ...counting, areFiles: true, keys: keys.slice(0, 4), callers: 32, paths: ['/v1/exports/entries.parquet'] },
    ],
  ]
  /** Looks at the health and the memory of the service until it is told to end. */
  const watch = () => {
    const [times, onMetricsPort]: [number[], number[]] = [[], []]
    let [most, isOver] = [0, false]
    const again = async (look: () => Promise<unknown>) => {
      for (; !isOver; await sleep(LOOK_MS)) await look()
    }
    const looking = Promise.all([
      again(async () => times.push(await timedAlone(`${service.url}/health/live`))),
      again(async () => onMetricsPort.push(await timedAlone(`http://127.0.0.1:${metricsPort}/health/live`))),
      again(async () => {
        most = Math.max(most, (await service.usage()).rss)
      }),
    ])
    return async () => {
      isOver = true
      await looking
      return { times, onMetricsPort, most }
    }
  }
  await byId()
  add('entry by id, alone', await byId())
  for (const [name, attack] of [...beside, ...slow]) {
    const before = (await service.usage()).rss
    const callers = startCallers()
    const end = watch()
    await callers.begin({ ...attack, port: service.port })
    await sleep(BEFORE_MS)
    add(`entry by id beside ${name}`, await byId(attack.isTooMuch ? LONGER : 1))
    if (attack.paths[0] === widePage)
      add('a page of 20 MB of its own beside them', [await timed(widePage), await timed(widePage)])
    const { times, onMetricsPort, most } = await end()
    add(`health beside ${name}`, times)
    add(`health on METRICS_PORT beside ${name}`, onMetricsPort)
    const { pages, refusals } = await callers.end()
    await sleep(AFTER_MS)
    const more = (rss: number) => `${((rss - before) / 2 ** 20).toFixed(0)} MiB`
    say(
      `${name}: ${pages} responses, ${refusals} refused; ${more(most)} more memory, ${more((await service.usage()).rss)} afterwards`,
    )
  }
  const [walkers, counters] = [startCallers(), startCallers()]
  // Each asks for another question or time, so that nothing is kept of it.
  const walks = Array.from(
    { length: 1000 },
    (_, n) => `/v1/entries?form=many&answered=${n.toString(16).padStart(12, '0')}`,
  )
  const since = (n: number) => `/v1/entries?perPage=1&createdSince=${new Date(n).toISOString()}`
  const totals = Array.from({ length: 10_000 }, (_, n) => since(n))
  const { port } = service
  await walkers.begin({ ...counting, port, keys: keys.slice(0, 2), callers: 2, paths: walks })
  await counters.begin({ ...all, port, keys: keys.slice(2, 4), callers: 16, paths: totals })
  await sleep(BEFORE_MS)
  const asked: [name: string, pathOf: (n: number) => string][] = [
    ['an entry by id', () => `/v1/entries/${data[0]?.id}`],
    ['a total', (n) => since(-1 - n)],
    ['an export', (n) => `/v1/exports/entries.csv?createdSince=${new Date(-1 - n).toISOString()}`],
  ]
  for (const [name, pathOf] of asked) {
    const times: number[] = []
    for (let n = 0; n < REPEATED; n++) {
      const start = performance.now()
      const response = await fetch(service.url + pathOf(n), { headers: { authorization: `Bearer ${key}` } })
      times.push(response.status === 200 ? performance.now() - start : Number.POSITIVE_INFINITY)
      await response.body?.cancel()
    }
    add(`${name} begins, beside two keys that walk a form and two with 16 totals`, times)
  }
  await walkers.end()
  await counters.end()
  add('a page of 20 MB, alone', [await timed(widePage), await timed(widePage)])

  const feed = '/v1/sync/forms?wait=60&cursor='
  const cursorOf = async (each: string) => {
    const response = await fetch(`${service.url}/v1/sync/forms?perPage=1000`, {
      headers: { authorization: `Bearer ${each}` },
    })
    return ((await response.json()) as { _metadata: { nextCursor: string } })._metadata.nextCursor
  }
  await sleep(SETTLE_MS)
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
      { uri: withDatabase(`mongodb://127.0.0.1:${proxy.port}/`, databaseName('attacks')) },
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
