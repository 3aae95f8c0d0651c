// A plain program with pandas and numpy has the same flags, bounds and shares as the service, of demo data and of hostile
// ones. It is examples/second_look.py; pandas is in the folder of TEST_TOOLS.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { CheckedAgent, CheckedEntry, Share } from '../schemas/checks.js'
import { demoOptions, seedData } from '../seed/index.js'
import { createRandom, integer, pick } from '../seed/random.js'
import type { Documents } from '../src/core/documents/collections.js'
import type { Store } from '../src/core/store/store.js'
import { questionKey } from '../src/core/write/question-columns.js'
import { type TestApp, testApp } from '../test/support/app.js'
import { A, a, fillTenants } from '../test/support/tenants.js'
import { runs } from '../test/support/thorough.js'

const folder = process.env.TEST_TOOLS
const skip = folder === undefined && 'TEST_TOOLS is not set'
const PYTHON = join(resolve(String(folder)), 'files', 'bin', 'python')
const PROGRAM = resolve('examples/second_look.py')
/** How many hostile organisations there are. */
const SEEDS = runs(5, 40)

const BROKEN = 'broken'

type PlainShare = [number, number, number | null, number | null, number | null]
/** What the program prints. */
interface Plain {
  flags: Record<string, [string, string | null, number | string | null, number | null, number | null, number][]>
  agents: Record<string, Record<string, unknown>>
}

/** Numbers differ in their last digits, because every library has its own logarithm. */
const rounded = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toPrecision(9)) : value)

/** @param more parameters of the entries of one form, which the program has as options */
const compare = async (
  t: Test,
  { get }: TestApp,
  organisation: string,
  minEntries: number,
  zone: string,
  form?: string,
  more: Readonly<Record<string, string>> = {},
) => {
  const file = join(t.testdir(), 'entries.ndjson')
  const ofForm = form === undefined ? '' : `&form=${form}`
  const exported = `/v1/exports/entries.ndjson?answers=list&unreadable=skip${ofForm}`
  writeFileSync(file, (await get(exported, organisation)).rawPayload)
  const options = Object.entries(more).map(([name, value]) => `--${name}=${value}`)
  const { stdout } = await promisify(execFile)(PYTHON, [PROGRAM, file, String(minEntries), zone, ...options], {
    maxBuffer: 2 ** 28,
  })
  const query = `minEntries=${minEntries}&perPage=1000${ofForm}&${new URLSearchParams(more)}`
  const plain = JSON.parse(stdout) as Plain
  const rows = async <R>(path: string): Promise<R[]> => {
    const all: R[] = []
    for (let url: string | undefined = `/v1/checks/${path}`; url !== undefined; ) {
      const response: { success: boolean; data: R[]; _metadata: { pageLinks: { next?: string } } } = (
        await get(url.replace(/^http:\/\/[^/]+/, ''), organisation)
      ).json()
      t.equal(response.success, true, JSON.stringify(response).slice(0, 500))
      all.push(...response.data)
      url = response._metadata.pageLinks.next
    }
    return all
  }
  const entries = await rows<CheckedEntry>(`entries?${query}`)
  const agents = await rows<CheckedAgent>(`agents?${query}&zone=${zone}`)
  /** What cannot be shown is in no export, and is of a form and an agent of its own. */
  const isShown = ({ agent }: { agent: unknown }) => agent !== BROKEN
  const inOrder = (flags: unknown[]) => flags.map((flag) => JSON.stringify(flag)).sort()
  const found = Object.fromEntries(
    entries
      .filter(isShown)
      .map(({ id, flags }) => [
        id,
        inOrder(
          flags.map(({ check, reason, key, value, expected: [least, most], n }) =>
            [check, reason ?? key ?? null, value, least, most, n].map(rounded),
          ),
        ),
      ]),
  )
  const wanted = Object.fromEntries(
    Object.entries(plain.flags).map(([id, flags]) => [id, inOrder(flags.map((flag) => flag.map(rounded)))]),
  )
  t.same(found, wanted, `${entries.length} flagged entries are those of the program`)
  const shareOf = ({ count, of, share, low, high }: Share) => [count, of, share, low, high].map(rounded)
  const foundAgents = Object.fromEntries(
    agents.filter(isShown).map(({ agent, days, entries, durations, durationRatio, flagged, sameness, ...all }) => [
      agent ?? '',
      {
        ...{ days, entries, durations, durationRatio: rounded(durationRatio), flagged: shareOf(flagged) },
        ...Object.fromEntries(
          Object.entries(all).flatMap(([name, share]) =>
            typeof share === 'object' ? [[name, shareOf(share as Share)]] : [],
          ),
        ),
        sameness: inOrder(
          (sameness ?? []).map(({ form, value, expected, n }) => [form ?? '', value, expected[1], n].map(rounded)),
        ),
      },
    ]),
  )
  const wantedAgents = Object.fromEntries(
    Object.entries(plain.agents).map(([agent, { sameness, ...all }]) => [
      agent,
      {
        ...Object.fromEntries(
          Object.entries(all).map(([name, value]) => [
            name,
            Array.isArray(value) ? (value as PlainShare).map(rounded) : rounded(value),
          ]),
        ),
        sameness: inOrder((sameness as unknown[][]).map((each) => each.map(rounded))),
      },
    ]),
  )
  t.same(foundAgents, wantedAgents, `${agents.length} agents are those of the program`)
  return { entries, agents }
}

t.test('A program with pandas finds the same in demo data', { skip, timeout: 300_000 }, async (t) => {
  const organisations: string[] = []
  const app = await testApp(t, {
    fill: async (store) => {
      for (const { collection, documents } of seedData({ ...demoOptions, seed: 7 })) {
        await store.insert(collection, documents)
        if (collection === 'organisations') organisations.push(...documents.map(({ _id }) => _id))
      }
    },
  })
  for (const organisation of organisations) {
    const { entries, agents } = await compare(t, app, organisation, 20, 'Africa/Lagos')
    t.ok(entries.length > 30 && agents.length > 30)
  }
})

/** Entries of all kinds: few of a form, equal durations, answers of several types, and times and places of all kinds. */
const hostile = async (store: Store, seed: number): Promise<void> => {
  await fillTenants(store)
  const random = createRandom(seed)
  const one = (most: number) => integer(random, 0, most)
  const answers = [
    '5',
    5,
    '7.25',
    -3,
    '1e5',
    '3e+1',
    ' 6 ',
    '1e999',
    '+5',
    '',
    null,
    [],
    ['a', 'b'],
    ['4', ''],
    [6],
    '１２',
    900_000,
    'a',
    '-99',
    '-88',
    '999',
  ]
  const made = Array.from({ length: integer(random, 0, 400) }, (_, n) => {
    const form = pick(random, ['usual', 'usual', 'equal', 'rare', `alone-${n}`, undefined])
    const agent = pick(random, ['sits', 'alike', 'x', 'y', 'z', 'v', undefined])
    const typed = (question: string) => ({
      type: pick(random, ['number', 'number', 'number', 'text']),
      question,
      answer: pick(random, [one(50), String(one(50)), String(one(9) ** 5), one(3), ...answers]),
    })
    const closed = (question: string) => ({
      type: pick(random, ['singleChoice', 'multiChoice']),
      question,
      answer: agent === 'alike' ? 'a' : pick(random, ['a', 'b', ['a', 'b'], null, '5']),
    })
    const numbers = [8.5 + random() / 20, 12 + random() / 20, 0, 12, 900, -0, Number.NaN, 8.5]
    const coordinates =
      agent === 'sits'
        ? { longitude: 8.51, lattitude: 12.01 }
        : { longitude: pick(random, numbers), lattitude: pick(random, numbers) }
    const location = { country: 'Nigeria', state: pick(random, ['Kano', 'Kano', 'Oyo', '']), coordinates }
    const { longitude, lattitude } = coordinates
    const isShown = !Number.isNaN(longitude + lattitude)
    return {
      ...a.entry(n),
      _id: `hostile-${String(one(9)).padStart(2, '0')}-${n}`,
      form,
      agent,
      createdAt: new Date(pick(random, [-1, 0, 1, 1740000000000]) * one(3) * 3_600_000 || one(9) * 1000),
      duration: form === 'equal' ? 60 : pick(random, [one(100), one(1e6), random(), 0, -1, undefined]),
      location: one(9) === 0 ? undefined : isShown ? location : { state: 'Kano' },
      answers:
        one(9) === 0
          ? []
          : [...['A?', 'B?', 'C?', 'D?'].map(closed), typed('E?'), typed('E?'), typed(`F${one(1)}?`)].slice(one(3)),
    } as unknown as Documents['entries']
  })
  await store.insert('entries', made)
  const unfit = [Number.NaN, [null], ['4', null], { a: 1 }, true].flatMap((answer, n) => [
    { answers: [{ type: 'number', question: 'E?', answer }] },
    { answers: [], duration: [1, 2, 3, 4, Number.NaN][n] ?? 0, createdAt: n },
  ])
  const broken = unfit.map((each, n) => ({
    ...a.entry(n),
    _id: `broken-${n}`,
    form: BROKEN,
    agent: BROKEN,
    location: null,
    ...each,
  }))
  await store.insert('entries', broken as never)
}

t.test('A program with pandas finds the same in hostile data', { skip, timeout: 600_000 }, async (t) => {
  let flagged = 0
  for (let seed = 0; seed < SEEDS; seed++) {
    await t.test(`seed ${seed}`, async (t) => {
      const app = await testApp(t, { fill: (store) => hostile(store, seed) })
      const { entries } = await compare(
        t,
        app,
        A,
        seed % 3 === 0 ? 5 : 20,
        pick(createRandom(seed), ['UTC', 'Asia/Gaza', 'America/Lima']),
      )
      flagged += entries.length
      const [closed, number, other] = ['A?', 'E?', 'F0?'].map(questionKey)
      const more = { missing: '-99,999,a', unique: `${closed},${number}`, questions: `${number},${other}` }
      if (entries.length > 0) await compare(t, app, A, 5, 'UTC', 'usual', more)
    })
  }
  t.ok(flagged > 20 * SEEDS, `${flagged} entries are flagged`)
})
