// GET /v1/checks: what is shown of entries and agents that need a second look, to whom, and how it is paged.
import { setTimeout } from 'node:timers/promises'
import { BSON } from 'mongodb'
import t, { type Test } from 'tap'
import type { CheckedAgent, CheckedEntry } from '../../schemas/checks.js'
import { demoOptions, seedData } from '../../seed/index.js'
import { places } from '../../seed/places.js'
import { BsonList } from '../../src/core/bson/reader.js'
import type { Documents } from '../../src/core/documents/collections.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { QueryTimeout, type Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { readCsv } from '../support/csv.js'
import { Each } from '../support/each.js'
import { testStore } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'
import { isThorough, leftToGate, runs } from '../support/thorough.js'

type Entry = Documents['entries']
const SEEDS = runs(1, 20)
const [QUICK, OVER_NIGHT] = [60, 10 * 3600]
const MUCH = 150

/** What was planted in an entry of the demo data: the check that has to flag it. */
const plantedIn = (entry: Entry, before: Entry['answers'] | undefined): string | undefined => {
  const { location, answers, duration = 0 } = entry
  const { coordinates } = location ?? {}
  const town = places.find(({ state, city }) => state === location?.state && city === location?.city)
  if (coordinates === undefined || (coordinates.longitude === 0 && coordinates.lattitude === 0)) return 'place'
  if (Math.abs(coordinates.longitude - Number(town?.longitude)) > 1) return 'place'
  if (answers.length === 2) return 'incomplete'
  if (Number(answers.at(-1)?.answer) > MUCH) return 'number'
  if (JSON.stringify(answers) === JSON.stringify(before)) return 'copy'
  return duration > OVER_NIGHT ? 'long' : undefined
}

for (let seed = 1; seed <= SEEDS; seed++) {
  t.test(
    `In the demo data of seed ${seed} what was planted is found, and hardly anything else`,
    { skip: leftToGate },
    async (t) => {
      const ofOrganisations = new Map<string, Entry[]>()
      // Each organisation has data of its own. The first is enough for every day.
      const isChecked = (organisation: string) =>
        isThorough || ofOrganisations.size === 0 || ofOrganisations.has(organisation)
      const { get } = await testApp(t, {
        fill: async (store) => {
          for (const { collection, documents } of seedData({ ...demoOptions, seed })) {
            if (collection !== 'entries') {
              await store.insert(collection, documents)
              continue
            }
            for (const entry of documents) {
              if (!isChecked(entry.organisation)) continue
              const all = ofOrganisations.get(entry.organisation) ?? []
              ofOrganisations.set(entry.organisation, all)
              all.push(entry)
            }
          }
          await store.insert('entries', [...ofOrganisations.values()].flat())
        },
      })
      for (const [organisation, entries] of ofOrganisations) {
        const each = new Each()
        const inventor = entries.find(({ duration = QUICK }) => duration < QUICK)?.agent
        const agents = (await get('/v1/checks/agents', organisation)).json().data as CheckedAgent[]
        const { data, _metadata } = (await get('/v1/checks/entries?perPage=1000', organisation)).json()
        const flags = new Map(
          (data as CheckedEntry[]).map(({ id, flags }) => [id, flags.map(({ check }) => check as string)]),
        )
        t.equal(_metadata.entries, entries.length)
        t.equal(agents[0]?.agent, inventor, 'the agent who invents is first')
        t.ok(agents[0]?.sameness?.length, 'whose answers are alike')
        t.ok(Number(agents[0]?.durationRatio) < 0.1, 'and who is quick')
        const before = new Map<string, Entry['answers']>()
        let [planted, others, wrong] = [0, 0, 0]
        for (const entry of entries) {
          const check = plantedIn(entry, before.get(String(entry.form)))
          before.set(String(entry.form), entry.answers)
          if (entry.agent === inventor) continue
          if (check === undefined) {
            others += 1
            if (flags.has(entry._id)) wrong += 1
            continue
          }
          planted += 1
          each.ok(flags.get(entry._id)?.includes(check), `${entry._id} is flagged by ${check}`)
        }
        t.ok(planted > 15, `${planted} were planted`)
        t.ok(wrong < 0.005 * others, `${wrong} of ${others} others are flagged`)
        for (const { _id, agent } of entries.filter(({ agent }) => agent === inventor))
          each.ok(flags.has(_id), `${agent} invented ${_id}`)
        each.end(t)
      }
    },
  )
}

/** Thirty entries of two agents, of which five took very long. */
const fill = async (t: Test) => {
  const made = Array.from({ length: 30 }, (_, n) =>
    a.entry(n, {
      _id: `checked-${String(n).padStart(2, '0')}`,
      duration: n < 5 ? 100_000 : 100 + (n % 9),
      agent: n % 2 === 0 ? 'agent1-a' : 'agent2-a',
      createdAt: new Date(Date.UTC(2025, 5, 1 + n)),
      answers: [{ type: 'number', question: '=How many?', answer: n === 2 ? '99999' : String(n % 12) }],
    }),
  )
  const app = await testApp(t, {
    fill: async (store) => {
      await fillTenants(store)
      await store.insert('entries', made)
    },
  })
  const read = async (path: string, organisation = A) => (await app.get(`/v1/checks/${path}`, organisation)).json()
  return { ...app, read }
}
const OWN = 'idFrom=checked&idTo=checkee'
/** For tests that only read. */
const filled = fill(t)
const idsIn = ({ data }: { data: CheckedEntry[] }) => data.map(({ id }) => id.slice(8))

t.test('Flagged entries have pages: those with the most checks first, then the newest', async (t) => {
  const { read, get } = await filled
  const all = await read(`entries?${OWN}`)
  t.same(idsIn(all), ['02', '04', '03', '01', '00'])
  t.match(all._metadata, { total: 5, shown: 5, entries: 30, perPage: 50, pageCount: 1, hasMore: false })
  const first = await get(`/v1/checks/entries?${OWN}&perPage=2`, A)
  t.match(first.headers.link, /page=2.*rel="next"/)
  const { _metadata } = first.json()
  t.same(idsIn(first.json()), ['02', '04'])
  t.match(_metadata, { pageCount: 3, hasMore: true, pageLinks: { next: /perPage=2&?/ } })
  const path = (link: string) => link.replace(/^.*\/v1\/checks\//, '')
  const second = await read(path(_metadata.pageLinks.next))
  t.same(idsIn(second), ['03', '01'])
  t.same(idsIn(await read(path(second._metadata.pageLinks.next))), ['00'])
  t.same(idsIn(await read(path(second._metadata.pageLinks.previous))), ['02', '04'])
  const beyond = await read(`entries?${OWN}&perPage=2&page=9`)
  t.same(beyond.data, [])
  t.match(beyond._metadata.pageLinks, { previous: /page=3/ })
})

t.test('The same response has the same entity tag, and another one has another', async (t) => {
  const { get } = await filled
  const { headers } = await get(`/v1/checks/agents?${OWN}`, A)
  const again = (query: string) =>
    get(`/v1/checks/agents?${OWN}${query}`, A, { headers: { 'if-none-match': String(headers.etag) } })
  t.equal((await again('')).statusCode, 304)
  t.equal((await again('&names=true')).statusCode, 200)
  t.equal((await again('&page=2')).statusCode, 200)
})

t.test('An agent narrows what is shown, and not what it is compared with', async (t) => {
  const { read } = await filled
  const all = await read(`entries?${OWN}`)
  const own = await read(`entries?${OWN}&agent=agent2-a`)
  t.same(
    own.data,
    all.data.filter(({ agent }: CheckedEntry) => agent === 'agent2-a'),
  )
  t.match(own._metadata, { total: 2, entries: 30 })
  const { data } = await read(`agents?${OWN}&agent=agent2-a`)
  t.match(data, [{ agent: 'agent2-a', entries: 15, long: { count: 2, of: 15 } }])
  t.same((await read(`agents?${OWN}&agent=nobody`)).data, [])
})

t.test('Names stand beside ids, unless the key sees none', async (t) => {
  const { read, get, store, app } = await filled
  const named = await read(`entries?${OWN}&names=true`)
  t.match(named.data[0], { agentName: 'Chidi Ọkáfọ̀ a', formName: 'Water a' })
  t.match((await read(`agents?${OWN}&names=true`)).data[0], { agentName: 'Chidi Ọkáfọ̀ a' })
  const issue = (without: ('personal' | 'places')[]) =>
    keysOf(store, (error) => t.fail(String(error))).issue({ organisation: A, name: 'Blind', without })
  const ask = async (without: ('personal' | 'places')[], path: string) => {
    const headers = { authorization: `Bearer ${await issue(without)}` }
    return app.inject({ url: `/v1/checks/${path}`, headers })
  }
  const blind = (await ask(['personal'], `entries?${OWN}&names=true`)).json()
  t.match(blind.data[0], { agent: 'agent1-a', formName: 'Water a' })
  t.notMatch(blind.data[0], { agentName: String })
  t.match(
    (await ask(['personal'], `entries.csv?${OWN}&names=true`)).body,
    /^"id","form","formName","agent","createdAt",/,
  )
  const placeless = await ask(['places'], `agents?${OWN}`)
  t.notMatch(placeless.json().data[0], { place: Object })
  t.match((await read(`agents?${OWN}`)).data[0], { place: { of: 15 } })
  t.equal((await ask(['places'], `entries?${OWN}&checks=place`)).statusCode, 400)
  t.equal((await get(`/v1/checks/entries?${OWN}&checks=place`, A)).statusCode, 200)
})

t.test('As a table, a flag is a row, and so is an agent', async (t) => {
  const { get } = await filled
  const table = async (path: string) => {
    const response = await get(`/v1/checks/${path}`, A)
    t.equal(response.headers['content-type'], 'text/csv; charset=utf-8')
    const [names = [], ...rows] = readCsv(response.body.replace('\ufeff', ''))
    return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])))
  }
  const flags = await table(`entries.csv?${OWN}&names=true`)
  t.same(flags.length, 6)
  t.match(flags[0], { id: 'checked-02', check: 'long', value: '100000', n: '30', agentName: 'Chidi Ọkáfọ̀ a' })
  t.match(flags[1], { id: 'checked-02', check: 'number', value: '99999', question: "'=How many?" })
  t.match(await table(`entries.csv?${OWN}&formulas=keep`), { 1: { question: '=How many?' } })
  const agents = await table(`agents.csv?${OWN}&bom=true`)
  t.match(agents[0], { entries: '15', 'long.count': '3', 'long.of': '15', 'short.count': '0', sameness: '0' })
  t.match(await table(`agents.csv?${OWN}&checks=long`), { 0: { 'short.count': undefined, sameness: undefined } })
  t.same(await table(`entries.csv?${OWN}&agent=nobody`), [])
  t.match((await get(`/v1/checks/entries.csv?${OWN}`, A)).headers['content-disposition'], /checked-entries-.*\.csv/)
})

t.test('Nobody sees entries of another organisation, and one without entries has none', async (t) => {
  const { read } = await filled
  t.same((await read(`entries?${OWN}`, B)).data, [])
  t.match(await read(`agents?${OWN}`, B), { data: [], _metadata: { total: 0, entries: 0, pageCount: 0 } })
})

t.test('What cannot be checked is an error that says what is allowed', async (t) => {
  const { read } = await filled
  const refused = async (path: string) => (await read(path)).errors
  t.match(await refused('entries?checks=fraud'), [{ name: 'checks', allowed: ['short', 'long', 'copy'] }])
  t.match(await refused('agents?minEntries=4'), [{ name: 'minEntries', message: /from 5 to 10000/ }])
  t.match(await refused('agents?zone=Mars'), [{ name: 'zone' }])
  t.match(await refused('entries.csv?page=2'), [{ name: 'page' }])
})

t.test('More than can be checked is refused, and the error says what helps', async (t) => {
  const store = testStore(t)
  const { get } = await testApp(t, { fill: fillTenants, store: { ...store, count: async () => 500_001 } })
  const tooMany = await get('/v1/checks/agents', A)
  t.equal(tooMany.statusCode, 400)
  t.match(tooMany.json().detail, 'more than 500000 cannot be checked at once; a narrower filter')
})

t.test('Answers that take too much memory are refused', { skip: leftToGate }, async (t) => {
  const long = (n: number) => ({ type: 'singleChoice', question: 'Why?', answer: `${n}${'x'.repeat(14_000_000)}` })
  const store = testStore(t)
  // The entries of the store are small. They have their answers when they are read, made once.
  const made = new Map<string, Buffer>()
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    const list = await store.aggregate(query, reading)
    if (query.collection !== 'entries') return list
    const read = list.documents.map(({ bytes }) => {
      const entry = BSON.deserialize(bytes)
      const found = made.get(entry._id) ?? Buffer.from(BSON.serialize({ ...entry, answers: [long(made.size)] }))
      made.set(entry._id, found)
      return found
    })
    return new BsonList('entries', read)
  }
  const { get } = await testApp(t, {
    store: { ...store, aggregate },
    fill: () =>
      store.insert(
        'entries',
        [1, 2, 3, 4, 5].map((n) => a.entry(n)),
      ),
  })
  t.match((await get('/v1/checks/entries', A)).json().detail, 'their answers take more than 17104896 bytes')
})

t.test(
  'Rows that are too long to be kept are left out, but not where one agent is asked for',
  { skip: leftToGate },
  async (t) => {
    const { get } = await testApp(t, {
      fill: async (store) => {
        await fillTenants(store)
        const made = Array.from({ length: 30 }, (_, n) => a.entry(n, { _id: `long-${n}`, duration: 100 + (n % 9) }))
        await store.insert('entries', made)
        const far = (agent: string, day: number) =>
          a.entry(1, { _id: `far-${day}`, duration: 1e6, agent, createdAt: new Date(Date.UTC(2025, 1, day)) })
        for (let n = 5; n < 9; n++) await store.insert('entries', [far(String(n).repeat(1_500_000), n)])
        await store.insert('entries', [far('last', 1)])
      },
    })
    const ask = async (path: string) => (await get(`/v1/checks/${path}`, A)).json()
    const metadata = async (path: string) => (await ask(path))._metadata
    t.match(await metadata('entries?checks=long'), { total: 5, shown: 3 })
    t.match(await metadata('entries?checks=long&agent=last'), { total: 1, shown: 1 })
    t.match(await metadata('agents?checks=long&idFrom=far&idTo=m'), { total: 6, shown: 4 })
    t.match((await ask('agents?checks=long&agent=last')).data, [{ agent: 'last', long: { count: 1 } }])
    t.match((await ask('entries.csv?checks=long')).detail, 'of 5 rows a file would have 3; a narrower filter')
    t.equal((await get('/v1/checks/entries.csv?checks=long&agent=last', A)).statusCode, 200)
  },
)

t.test('Where all rows are too long to be kept, none is shown', { skip: leftToGate }, async (t) => {
  const { get } = await testApp(t, {
    fill: async (store) => {
      await fillTenants(store)
      await store.insert('entries', [a.entry(1, { _id: 'alone', agent: 'x'.repeat(5_000_000) })])
    },
  })
  for (const format of ['', '.csv']) {
    const response = await get(`/v1/checks/agents${format}?idFrom=alone&idTo=alonf`, A)
    if (format === '') t.match(response.json(), { data: [], _metadata: { total: 1, shown: 0 } })
    else t.match(response.json().detail, 'of 1 rows a file would have 0; a narrower filter')
  }
})

t.test('An empty list names the filters that no entry has', async (t) => {
  const { read } = await filled
  t.same((await read('entries?form=nope&agent=nobody&status=accepted'))._metadata.unmatched, ['form', 'agent'])
  t.equal((await read(`entries?${OWN}&checks=short`))._metadata.unmatched, undefined)
})

t.test('After a count that failed, and when entries were added, the next check is right', async (t) => {
  const store = testStore(t)
  let isSlow = true
  const count: typeof store.count = async (query) => {
    if (isSlow) throw new QueryTimeout('too slow')
    // A count that takes so long is kept for a while elsewhere.
    await setTimeout(20)
    return store.count(query)
  }
  const { get } = await testApp(t, { fill: fillTenants, store: { ...store, count } })
  const ask = async (query: string) => (await get(`/v1/checks/agents?${query}`, A)).json()
  const codes = [(await ask('')).code]
  isSlow = false
  // The failure is kept for a moment.
  let entries: number | undefined
  while (entries === undefined) entries = (await ask(''))._metadata?.entries
  await get('/v1/entries', A)
  await store.insert('entries', [a.entry(90)])
  t.same([codes, (await ask('minEntries=21'))._metadata.entries], [['query_timeout'], entries + 1])
})

t.test(
  'While a key checks much, it is served all else, and a second check of it waits for the first',
  { skip: leftToGate },
  async (t) => {
    const stored = testStore(t)
    const pages: (() => void)[] = []
    let isHeld = true
    const store: typeof stored = {
      ...stored,
      aggregate: async (...query) => {
        // The pages of the check, of which the third has to wait. The first have more than a key may hold of responses.
        if (isHeld && pages.length < 3) await new Promise<void>((go) => (pages.push(go) < 3 ? go() : undefined))
        return stored.aggregate(...query)
      },
    }
    // What is no answer is read, but not kept.
    const long = (n: number) => ({
      type: 'singleChoice',
      question: 'Why?',
      answer: String(n),
      note: 'x'.repeat(4_000_000),
    })
    const { get, keyOf } = await testApp(t, {
      settings: { RESPONSE_MEMORY_MB: '64' },
      store,
      fill: async () => {
        await fillTenants(stored)
        for (let n = 0; n < 6; n++)
          await stored.insert('entries', [a.entry(20 + n, { _id: `much-${n}`, answers: [long(n)] })])
      },
    })
    await keyOf(A)
    const ask = (query: string) => get(`/v1/checks/agents?idFrom=much&idTo=mucu&${query}`, A)
    const checks = [ask('checks=copy'), ask('checks=long')]
    while (pages.length < 3) await setTimeout(5)
    const others = await Promise.all(Array.from({ length: 20 }, () => get('/v1/agents/agent1-a', A)))
    isHeld = false
    pages[2]?.()
    const codes = [...others, ...(await Promise.all(checks))].map(({ statusCode }) => statusCode)
    t.same(codes, Array(22).fill(200))
  },
)

t.test('A database that is too slow is an error that says what may help', async (t) => {
  const store = testStore(t)
  const slow = async () => {
    throw new QueryTimeout('too slow')
  }
  const { get } = await testApp(t, { fill: fillTenants, store: { ...store, count: slow } })
  const response = await get('/v1/checks/entries', A)
  t.equal(response.statusCode, 503)
  t.match(response.json(), { code: 'query_timeout', detail: /such as createdSince or form/ })
})
