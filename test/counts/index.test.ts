// Summaries, questions and filters by an answer are what a plain program counts from the export.
import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { BSON, Decimal128, Long, ObjectId } from 'mongodb'
import t from 'tap'
import { steps } from '../../schemas/summaries.js'
import { BsonList, sizeOf } from '../../src/core/bson/reader.js'
import type { Documents } from '../../src/core/documents/collections.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { QueryTimeout, type Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { Each } from '../support/each.js'
import { heapUsed } from '../support/heap.js'
import { testStore } from '../support/store.js'
import { A, a, B, b, fillTenants } from '../support/tenants.js'
import { isThorough, leftToGate, runs } from '../support/thorough.js'

type Random = () => number
/** Numbers from 0 to 1 that depend on a seed alone (mulberry32). */
const randomOf = (seed: number): Random => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}
const pickFrom = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T

const ZONES = ['UTC', 'Africa/Lagos', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Africa/Casablanca']
const QUESTIONS = ['Water?', 'water?', 'A=B', 'Caf\u00e9', 'Cafe\u0301', '', '$status', 'toString', '__proto__']
const ANSWERS = [
  'Borehole',
  'borehole',
  'a=b',
  '',
  '$status',
  'Caf\u00e9',
  'Cafe\u0301',
  '5',
  ' 7 ',
  '3e+05',
  'null',
  '\u{1f600}',
  '\uffff',
]
const TEXTS = [undefined, '', 'Kano', 'kano', 'Caf\u00e9', '$form', '\u{1f600}', '\uffff']
const MS = Date.UTC(2024, 9, 1)

const keyOf = (question: string) => createHash('sha256').update(question).digest('hex').slice(0, 12)

/** Entries with all that may be missing. */
const entriesOf = (random: Random) =>
  Array.from({ length: 1 + Math.floor(random() * 60) }, (_, n) => {
    const maybe = <T>(value: T) => (random() < 0.8 ? value : undefined)
    const answers = QUESTIONS.filter(() => random() < 0.4).flatMap((question) =>
      Array.from({ length: random() < 0.1 ? 2 : 1 }, () => {
        const several = Array.from({ length: Math.floor(random() * 4) }, () => pickFrom(random, ANSWERS))
        const answer = pickFrom<unknown>(random, [
          pickFrom(random, ANSWERS),
          several,
          several,
          null,
          undefined,
          5,
          -0.5,
          1234.5,
          0,
        ])
        return { type: Array.isArray(answer) ? 'multiChoice' : 'singleChoice', question, answer }
      }),
    )
    const degrees = (most: number) => Math.round((random() * 2 - 1) * most * 100) / 100
    return {
      ...a.entry(n),
      status: pickFrom(random, ['accepted', 'pending', '$status', '']),
      form: maybe(pickFrom(random, [a.form._id, 'other'])),
      project: maybe('project1-a'),
      dispatch: maybe(pickFrom(random, ['dispatch1-a', 'dispatch2-a', 'gone'])),
      agent: maybe(pickFrom(random, ['agent1-a', 'agent2-a'])),
      duration: maybe(Math.round(random() * 1000) / 4),
      createdAt: new Date(MS + Math.floor(random() * 400 * 24) * 1_800_000 + (random() < 0.5 ? 0 : -1)),
      answers: answers as never,
      location: maybe({
        country: maybe('Nigeria'),
        state: pickFrom(random, TEXTS),
        lga: maybe('Tarauni'),
        city: maybe('Kano'),
        coordinates: maybe({ longitude: pickFrom(random, [degrees(3), 0.3, -0.07, 180]), lattitude: degrees(2) }),
      }) as never,
    }
  })

interface Row {
  id: string
  status: string
  answers: { type: string; question: string; answer?: string[] }[]
  createdAt: string
  duration?: number
  location?: Record<string, unknown> & { coordinates?: { longitude: number; lattitude: number } }
  [name: string]: unknown
}

/** All answers of an entry to a question. */
const answersTo = ({ answers }: Row, key: string): string[] => [
  ...new Set(answers.filter(({ question }) => keyOf(question) === key).flatMap(({ answer = [] }) => answer)),
]

const dayOf = (text: string, timeZone: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    new Date(text),
  )
const mondayOf = (day: string): string => {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return date.toISOString().slice(0, 10)
}
/** The last edge of the earth is in the last cell. */
const middleOf = (degrees: number, step: number, most: number) => {
  const cell = Math.floor(Math.round(degrees * 100) / Math.round(step * 100))
  return Number(((degrees === most ? cell - 0.5 : cell + 0.5) * step).toFixed(3))
}

/** The values of a dimension that an entry has. */
const valuesOf = (row: Row, by: string, zone: string): unknown[] => {
  const [field, detail] = by.split(':') as [string, string?]
  if (field === 'createdAt') {
    const day = dayOf(row.createdAt, zone)
    const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
    const [hour] = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
      .format(new Date(row.createdAt))
      .split(':')
    const shown = { day, week: mondayOf(day), month: day.slice(0, 7), year: day.slice(0, 4) }
    return [{ ...shown, weekday: weekday + 1, hour: Number(hour) }[detail as 'day']]
  }
  if (field === 'location') {
    const { longitude, lattitude } = row.location?.coordinates ?? {}
    const [x, y] = [longitude as number, lattitude as number]
    const step = Number(detail)
    return [longitude === undefined ? null : { longitude: middleOf(x, step, 180), lattitude: middleOf(y, step, 90) }]
  }
  if (field.startsWith('location.')) return [row.location?.[field.slice('location.'.length)] || null]
  if (!/^[\da-f]{12}$/.test(field)) return [row[field] || null]
  const answers = answersTo(row, field)
  return answers.length > 0 ? answers : [null]
}

/** The groups, as text that does not depend on their order among equal counts. */
const countedBy = (
  rows: readonly Row[],
  by: readonly string[],
  zone: string,
  numberOf: (row: Row) => number | undefined,
) => {
  const groups = new Map<string, { count: number; numbers: number[] }>()
  for (const row of rows) {
    const [first = [undefined], second = [undefined]] = by.map((name) => valuesOf(row, name, zone))
    for (const x of first) {
      for (const y of second) {
        const key = JSON.stringify([x, y].slice(0, by.length))
        const group = groups.get(key) ?? { count: 0, numbers: [] }
        groups.set(key, group)
        group.count += 1
        const number = numberOf(row)
        if (number !== undefined) group.numbers.push(number)
      }
    }
  }
  return groups
}

const rounded = (number: number | null) => (number === null ? null : Math.round(number * 1e6) / 1e6)
const measureOf = (numbers: readonly number[]) => ({
  count: numbers.length,
  min: numbers.length > 0 ? Math.min(...numbers) : null,
  mean: rounded(numbers.length > 0 ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null),
  max: numbers.length > 0 ? Math.max(...numbers) : null,
})
/** Whether a percentile of some numbers is right within 1 % of the numbers that it lies between. */
const isPercentile = (found: number | null, numbers: readonly number[], part: number): boolean => {
  if (numbers.length === 0) return found === null
  const inOrder = numbers.toSorted((a, b) => a - b)
  const place = part * (numbers.length - 1)
  const [low, high] = [inOrder[Math.floor(place)], inOrder[Math.ceil(place)]] as [number, number]
  const right = low + (high - low) * (place % 1)
  return Math.abs(Number(found) - right) <= 0.01 * Math.max(Math.abs(low), Math.abs(high))
}

const SIMPLE = ['status', 'form', 'project', 'dispatch', 'agent']
const PLACES = [
  'location.country',
  'location.state',
  'location.lga',
  'location.city',
  ...steps.map((step) => `location:${step}`),
]
const TIMES = ['day', 'week', 'month', 'year', 'weekday', 'hour'].map((period) => `createdAt:${period}`)

/** More of them take longer: `.ci/nightly` draws 500. */
const RUNS = Number(process.env.MODEL_RUNS ?? runs(2, 40))

t.test('random summaries, questions and filters are what a plain program counts', async (t) => {
  const { get, store } = await testApp(t, {
    settings: { TOTAL_MAX_AGE_MS: '0', MAX_PER_PAGE: '1000' },
    fill: async (store) => {
      await store.insert('forms', [a.form, { ...a.form, _id: 'other' }])
      await store.insert('entries', [b.entry(1), b.entry(2)])
    },
  })
  for (let seed = 1; seed <= RUNS; seed++) {
    const random = randomOf(seed)
    const old = (await get('/v1/entries?fields=id&perPage=1000', A)).json().data
    await store.remove(
      'entries',
      A,
      old.map(({ id }: Row) => id),
    )
    const drawn = entriesOf(random) as Documents['entries'][]
    await store.upsert('entries', drawn)
    const all: Row[] = (await get('/v1/exports/entries.ndjson?answers=list', A)).body
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    const form = pickFrom(random, [a.form._id, 'other'])
    const ofForm = all.filter((row) => row.form === form)
    const observed = [...new Set(ofForm.flatMap(({ answers }) => answers.map(({ question }) => question)))]

    // Filters
    const query = new URLSearchParams()
    let rows = all
    if (random() < 0.7 && observed.length > 0) {
      query.set('form', form)
      rows = ofForm
      for (let n = Math.floor(random() * 3); n > 0; n--) {
        const key = keyOf(pickFrom(random, observed))
        const answer = random() < 0.6 ? pickFrom(random, ANSWERS) : undefined
        query.append('answered', answer === undefined ? key : `${key}=${answer}`)
        rows = rows.filter((row) =>
          answer === undefined ? answersTo(row, key).length > 0 : answersTo(row, key).includes(answer),
        )
      }
    }
    if (random() < 0.3) {
      query.set('state', 'Kano')
      rows = rows.filter((row) => row.location?.state === 'Kano')
    }
    const listed = await get(`/v1/entries?perPage=1000&fields=id&${query}`, A)
    t.same(
      listed.json().data?.map(({ id }: Row) => id),
      rows.map(({ id }) => id).sort(),
      `${seed}: ${query}`,
    )
    const exported = await get(`/v1/exports/entries.csv?fields=status&${query}`, A)
    t.equal(exported.body.split('\r\n').length - 2, rows.length)

    // A summary
    const names = [...SIMPLE, ...PLACES, ...TIMES, ...(query.has('form') ? observed.map(keyOf) : [])]
    const by = [...new Set([pickFrom(random, names), pickFrom(random, names)])].slice(pickFrom(random, [0, 0, 1, 1, 2]))
    const zone = pickFrom(random, ZONES)
    if (by.length > 0) query.set('by', by.join())
    query.set('zone', zone)
    const measure =
      random() < 0.5
        ? undefined
        : query.has('form') && observed.length > 0
          ? keyOf(pickFrom(random, observed))
          : 'duration'
    if (measure !== undefined) query.set('measure', measure)
    const numberOf = (row: Row) => {
      if (measure === 'duration') return row.duration
      const asked = row.answers.filter(({ question }) => keyOf(question) === measure)
      const alone = asked.map(({ answer = [] }) => answer.filter(Boolean)).filter(({ length }) => length === 1)
      return alone.flatMap(([word = '']) => (/^ ?-?\d+(\.\d+)?(e\+\d+)? ?$/.test(word) ? [Number(word)] : []))[0]
    }
    const top = random() < 0.3 ? 2 : 1000
    query.set('top', String(top))
    const response = await get(`/v1/summaries/entries?${query}`, A)
    t.equal(response.statusCode, 200, `${seed}: ${query} ${response.statusCode === 200 ? '' : response.body}`)
    const { data, _metadata } = response.json()
    const groups = countedBy(rows, by, zone, numberOf)
    t.equal(_metadata.total, rows.length)
    t.equal(_metadata.groups, groups.size)
    t.equal(data.length, Math.min(top, groups.size))
    const sum = [...groups.values()].reduce((sum, { count }) => sum + count, 0)
    t.equal(data.reduce((sum: number, { count }: { count: number }) => sum + count, 0) + _metadata.others.count, sum)
    t.equal(_metadata.multiple, sum === rows.length ? undefined : true)
    t.equal(_metadata.others.groups, groups.size - data.length)
    for (const { count, duration, answer, ...values } of data) {
      const found = groups.get(JSON.stringify(by.map((name) => values[name])))
      t.equal(found?.count, count, `${seed}: ${query} ${JSON.stringify(values)}`)
      if (measure === undefined) continue
      const numbers = found?.numbers ?? []
      const { p10, median, p90, ...others } = measure === 'duration' ? duration : answer
      t.same({ ...others, mean: rounded(others.mean) }, measureOf(numbers))
      for (const [part, found] of [
        [0.1, p10],
        [0.5, median],
        [0.9, p90],
      ] as const) {
        t.ok(isPercentile(found, numbers, part), `${found} is ${part} of ${numbers}`)
      }
    }
    const rank = ({ count, numbers }: { count: number; numbers: number[] }) =>
      measure === undefined ? count : (measureOf(numbers).mean ?? Number.NEGATIVE_INFINITY)
    const ranks = data.map((values: object) =>
      rank(groups.get(JSON.stringify(by.map((name) => values[name as never]))) as never),
    )
    const before = [...groups.values()].filter((group) => rank(group) > Math.min(...ranks))
    t.ok(before.length <= data.length, 'the first are shown')
    if (!by.some((name) => name.startsWith('createdAt')))
      t.same(
        ranks,
        ranks.toSorted((a: number, b: number) => b - a),
      )

    // The questions of the form
    const asked = await get(`/v1/forms/${form}/questions`, A)
    t.equal(asked.statusCode, 200, asked.statusCode === 200 ? '' : asked.body)
    const { data: questions, _metadata: about } = asked.json()
    t.equal(about.entries, ofForm.length)
    t.same(questions.map(({ question }: { question: string }) => question).sort(), [...observed].sort())
    for (const {
      key,
      question,
      types,
      position,
      answered,
      distinct,
      choices,
      others,
      firstAnswered,
      lastAnswered,
    } of questions) {
      t.equal(key, keyOf(question))
      const places = ofForm.flatMap(({ answers }) =>
        answers.flatMap((each, i) => (each.question === question ? [i + 1] : [])),
      )
      t.equal(rounded(position), rounded(places.reduce((a, b) => a + b, 0) / places.length))
      const own = ofForm.flatMap(({ answers }) => answers.filter((each) => each.question === question))
      t.same(types, [...new Set(own.map(({ type }) => type))].sort())
      const who = ofForm.filter((row) => answersTo(row, key).length > 0)
      t.equal(answered, who.length)
      const counts = new Map<string, number>()
      for (const word of who.flatMap((row) => answersTo(row, key))) counts.set(word, (counts.get(word) ?? 0) + 1)
      t.same(
        Object.fromEntries(
          choices.map(({ answer, count }: { answer: string; count: number }) => [`=${answer}`, count]),
        ),
        Object.fromEntries([...counts].map(([word, count]) => [`=${word}`, count])),
        `${seed}: ${question}`,
      )
      t.equal(distinct, counts.size)
      t.equal(others, 0)
      const times = who.map(({ createdAt }) => createdAt).sort()
      t.same([firstAnswered, lastAnswered], [times[0], times.at(-1)])
    }
  }
  t.equal((await get('/v1/summaries/entries?by=status', B)).json()._metadata.total, 2)
})

t.test('a wrong request names the parameter and what is allowed', async (t) => {
  const { get, app, store } = await testApp(t, {
    fill: async (store) => {
      await store.insert('forms', [a.form])
      await store.insert('entries', [a.entry(1)])
    },
  })
  const [{ question } = { question: '' }] = a.entry(1).answers
  const key = keyOf(question)
  const form = `form=${a.form._id}`
  const wrong: [url: string, name: string, message: RegExp][] = [
    ['summaries/entries?by=', 'by', /must be/],
    ['summaries/entries?by=colour', 'by', /has "colour", but must be one or two of status, form, .*createdAt:day/],
    [
      'summaries/entries?by=createdAt:minute',
      'by',
      /has "createdAt:minute", but must be one or two of .*createdAt:day/,
    ],
    ['summaries/entries?by=location:0.03', 'by', /has "location:0.03", but must be one or two of .*location:0.02/],
    ['summaries/entries?by=status,status', 'by', /must not have the same value twice/],
    ['summaries/entries?by=status,form,agent', 'by', /must have at most 2 values/],
    [`summaries/entries?by=${key}`, 'by', /has the key of a question, so it must be given with form/],
    [`summaries/entries?${form}&by=0123456789ab`, 'by', /has 0123456789ab, .* GET \/v1\/forms\/\{id\}\/questions/],
    ['summaries/entries?by=status&top=0', 'top', /must be an integer from 1 to 10000/],
    ['summaries/entries?by=status&zone=Africa/Atlantis', 'zone', /must be the name of a time zone/],
    ['summaries/entries?by=status&measure=size', 'measure', /must be duration, or with form the key of a question/],
    [`entries?answered=${key}`, 'answered', /must be given with form/],
    [`entries?${form}&answered=0123456789ab`, 'answered', /has 0123456789ab, .* GET \/v1\/forms\/\{id\}\/questions/],
    [`entries?${form}&answered=${key}0`, 'answered', /must be the key of a question, 12 hexadecimal digits/],
    [`entries?${form}${`&answered=${key}`.repeat(5)}`, 'answered', /must be given at most 4 times/],
    [`exports/entries.csv?answered=${key}`, 'answered', /must be given with form/],
    ['entries?answered=', 'answered', /must be the key of a question/],
    ['forms/form-a/questions?by=status', 'by', /is not a parameter/],
  ]
  for (const [url, name, message] of wrong) {
    const response = await get(`/v1/${url}`, A)
    t.equal(response.statusCode, 400, url)
    const [error] = response.json().errors
    t.equal(error.name, name, url)
    t.match(error.message, message, url)
  }
  t.equal((await get('/v1/forms/form-b/questions', A)).statusCode, 404)

  // A key without places and personal data.
  const restricted = await keysOf(store, () => {}).issue({
    organisation: A,
    name: 'Less',
    without: ['places', 'personal'],
  })
  const headers = { authorization: `Bearer ${restricted}` }
  for (const query of ['by=location.state', 'by=location:1', 'by=status&state=Kano', 'by=status&city=Kano']) {
    const response = await app.inject({ url: `/v1/summaries/entries?${query}`, headers })
    t.equal(response.statusCode, 400, query)
    t.match(response.json().detail, /not visible to this key/)
  }
  t.equal((await app.inject({ url: '/v1/entries?lga=Tarauni', headers })).statusCode, 400)
  const { data } = (await app.inject({ url: '/v1/summaries/entries?by=agent&names=true', headers })).json()
  t.strictSame(data, [{ agent: a.entry(1).agent, count: 1 }])
})

t.test('a key for a project has the questions of its entries, and knows no form without one', async (t) => {
  const { app, store } = await testApp(t, { fill: fillTenants })
  await store.insert('forms', [{ ...a.form, _id: 'other' }])
  const project = a.project(2)._id
  await store.insert('entries', [
    { ...a.entry(4), project, answers: [{ type: 'text', question: 'Who?', answer: 'Nobody' }] },
    { ...a.entry(5), form: 'other' },
  ])
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Part', only: { project: [project] } })
  const ask = (url: string) => app.inject({ url, headers: { authorization: `Bearer ${key}` } })
  const { data, _metadata } = (await ask(`/v1/forms/${a.form._id}/questions`)).json()
  t.match(data, [{ question: 'Who?', answered: 1 }])
  t.equal(data.length, 1)
  t.equal(_metadata.entries, 1)
  for (const form of ['other', 'nobody', b.form._id])
    t.match((await ask(`/v1/forms/${form}/questions`)).json(), { code: 'not_found', detail: 'No form has this id' })
  t.match((await ask(`/v1/forms/${a.form._id}`)).json(), { code: 'not_in_scope', status: 403 })
  t.match((await ask('/v1/summaries/entries?by=form&none=true')).json(), { code: 'not_in_scope' })
})

t.test('names, and what a dispatch expects, stand beside the ids', async (t) => {
  const dispatch = a.dispatch(1)
  const { get } = await testApp(t, {
    fill: async (store) => {
      await store.insert('forms', [a.form])
      await store.insert('agents', [a.agent(1)])
      await store.insert('dispatches', [{ ...dispatch, totalExpectedEntries: 7 }, b.dispatch(1)])
      const entry = { ...a.entry(1), dispatch: dispatch._id, agent: a.agent(1)._id }
      await store.insert('entries', [
        entry,
        { ...entry, _id: 'e2' },
        { ...entry, _id: 'e3', dispatch: b.dispatch(1)._id },
      ])
    },
  })
  const { data } = (await get('/v1/summaries/entries?by=dispatch,agent&names=true', A)).json()
  const { firstName, lastName } = a.agent(1)
  const agent = { agent: a.agent(1)._id, agentName: `${firstName} ${lastName}` }
  t.strictSame(data, [
    { dispatch: dispatch._id, dispatchName: dispatch.name, totalExpectedEntries: 7, ...agent, count: 2 },
    { dispatch: b.dispatch(1)._id, dispatchName: null, totalExpectedEntries: null, ...agent, count: 1 },
  ])
})

t.test('a table has the same rows', async (t) => {
  const { get } = await testApp(t, {
    fill: (store) => {
      const place = { state: '=1+1', coordinates: { longitude: 8.5, lattitude: -0.01 } } as never
      return store.insert('entries', [
        { ...a.entry(1), location: place, duration: 3 },
        { ...a.entry(2), location: {}, duration: 5 },
        { ...a.entry(3), location: {}, duration: undefined } as never,
      ])
    },
  })
  const table = async (query: string) => (await get(`/v1/summaries/entries.csv?${query}`, A)).body
  t.equal(
    await table('by=location.state,location:0.5&measure=duration'),
    '"location.state","location:0.5.longitude","location:0.5.lattitude","count","duration.count","duration.min","duration.mean","duration.max","duration.median","duration.p10","duration.p90"\r\n' +
      ',,,2,1,5,5,5,5,5,5\r\n' +
      '"\'=1+1",8.75,-0.25,1,1,3,3,3,3,3,3\r\n',
  )
  t.equal(await table('by=status&status=none&bom=true'), '\ufeff"status","count"\r\n')
  t.equal(await table('by=location.state&formulas=keep&top=1'), '"location.state","count"\r\n,2\r\n')
})

t.test('records without entries are groups too, where that is asked for', async (t) => {
  const store = testStore(t)
  let areMany = false
  // A database with many agents gives as many as it is asked for.
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    const list = await store.aggregate(query, reading)
    if (!areMany || query.collection !== 'agents') return list
    const limit = query.stages.find(({ $limit }) => $limit !== undefined)?.$limit
    return new BsonList('agents', Array(Number(limit)).fill(list.documents[0]?.bytes))
  }
  const { get } = await testApp(t, {
    settings: { TOTAL_MAX_AGE_MS: '0' },
    store: { ...store, aggregate },
    fill: async () => {
      // No entry names a record by an ObjectId.
      const odd = { ...a.agent(4), _id: new ObjectId() } as never
      await store.insert('agents', [a.agent(1), a.agent(2), { ...a.agent(3), _id: 'agent0-a' }, odd, b.agent(1)])
      await store.insert('entries', [a.entry(1), { ...a.entry(2), agent: undefined } as never])
    },
  })
  const ask = (query: string, headers = {}) => get(`/v1/summaries/entries?${query}`, A, { headers })
  const { data, _metadata } = (await ask('by=agent&none=true&measure=duration')).json()
  t.same(
    data.map(({ agent, count, duration }: Row) => [agent, count, (duration as never as { mean: number | null }).mean]),
    [
      [null, 1, 102],
      ['agent1-a', 1, 101],
      ['agent0-a', 0, null],
      ['agent2-a', 0, null],
    ],
  )
  t.match(_metadata, { total: 2, groups: 4, others: { groups: 0, count: 0 } })
  t.match((await ask('by=agent&none=true&top=3')).json()._metadata, { groups: 4, others: { groups: 1, count: 0 } })
  t.match((await ask('by=agent')).json()._metadata, { groups: 2 })
  const { etag } = (await ask('by=agent&none=true')).headers
  t.equal((await ask('by=agent&none=true', { 'if-none-match': etag })).statusCode, 304)
  await store.remove('agents', A, ['agent0-a'])
  await store.insert('agents', [{ ...a.agent(3), _id: 'agent3-a' }])
  t.equal((await ask('by=agent&none=true', { 'if-none-match': etag })).statusCode, 200, 'others have no entries')
  for (const by of ['by=status&', 'by=agent,form&', 'by=createdAt:day&', '']) {
    const { errors } = (await ask(`${by}none=true`)).json()
    t.match(errors, [
      { name: 'none', message: /must be left out: only a count by form, project, dispatch or agent has it/ },
    ])
  }
  const dispatch = (n: number, more: object) => a.dispatch(n, { ...more, _id: `none${n}-a` })
  const rare = { form: 'rare', project: 'rare' }
  await store.insert('dispatches', [dispatch(1, rare), dispatch(2, { form: 'rare' }), dispatch(3, { project: 'rare' })])
  for (const [query, ids] of [
    ['by=dispatch&form=rare&project=rare', ['none1-a']],
    ['by=dispatch&form=rare', ['none1-a', 'none2-a']],
    ['by=dispatch&dispatch=none3-a', ['none3-a']],
    ['by=agent&agent=agent3-a&form=rare', ['agent3-a']],
  ] as const) {
    const { data } = (await ask(`${query}&none=true`)).json()
    t.same(
      data.map((group: Record<string, unknown>) => group.dispatch ?? group.agent),
      ids,
      `${query} has no records that its filters leave out`,
    )
  }
  areMany = true
  t.match((await ask('by=agent&none=true')).json().errors, [{ name: 'none', message: /more than 10000 agents/ }])
})

t.test('percentiles are right within 1 %', { skip: leftToGate }, async (t) => {
  const numbers = [...Array.from({ length: 2999 }, (_, n) => -1e9 * 1.2 ** -n), 0, 5e-324, 1e-9, 1, 3, 1e300]
  // The median of two numbers is between them, and so are both others.
  const few = [5, 300_000]
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert('entries', [
        ...numbers.map((duration, n) => ({ ...a.entry(n), _id: `n${n}`, duration })),
        ...few.map((duration, n) => ({ ...a.entry(n), _id: `f${n}`, duration, status: 'few' })),
      ]),
  })
  const { data } = (await get('/v1/summaries/entries?by=status&measure=duration', A)).json()
  for (const { status, duration } of data) {
    for (const [name, part] of [
      ['p10', 0.1],
      ['median', 0.5],
      ['p90', 0.9],
    ] as const) {
      const isRight = isPercentile(duration[name], status === 'few' ? few : numbers, part)
      t.ok(isRight, `${name} of ${status}: ${duration[name]}`)
    }
  }
})

t.test('what was answered is measured as a number, and equal groups are in the order of numbers', async (t) => {
  const given = [
    '9',
    '10',
    ['2.0'],
    '2',
    ' -3e+02 ',
    5,
    ['7', ''],
    'ten',
    ['1', '4'],
    '2,5',
    '1e999',
    '+1',
    null,
    '\u0663',
  ]
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        given.map((answer, n) => ({
          ...{ ...a.entry(n), form: a.form._id },
          answers: [{ type: 'number', question: 'How many?', answer }],
        })) as never,
      ),
  })
  const [form, key] = [a.form._id, keyOf('How many?')]
  const wrong: unknown[] = []
  const ask = async (query: string) => (await get(`/v1/summaries/entries?form=${form}&${query}`, A)).json().data
  const [{ answer }] = await ask(`measure=${key}`)
  const numbers = [9, 10, 2, 2, -300, 5, 7]
  if (!isPercentile(answer.median, numbers, 0.5) || !isPercentile(answer.p90, numbers, 0.9)) wrong.push(answer)
  t.match(answer, { count: 7, min: -300, max: 10 })
  t.equal(rounded(answer.mean), rounded(-265 / 7))
  const order = (await ask(`by=${key}`)).map((row: Record<string, unknown>) => row[key])
  const expected = [
    ' -3e+02 ',
    '1',
    '2',
    '2.0',
    '4',
    '5',
    '7',
    '9',
    '10',
    '',
    '+1',
    '1e999',
    '2,5',
    'ten',
    '\u0663',
    null,
  ]
  t.same([wrong, order], [[], expected])
})

t.test('answers that stand for none count as none', async (t) => {
  const given = ['-99', '5', 'NA', ['-99', '7'], '5.0', null, '']
  const entries = given.map((answer, n) => ({
    ...{ ...a.entry(n), form: a.form._id },
    answers: [
      { type: 'number', question: 'Age?', answer },
      { type: 'date', question: 'When?', answer: `2025-03-1${n}` },
    ],
  }))
  const fill = async (store: Store) => {
    await store.insert('forms', [a.form])
    await store.insert('entries', entries as never)
  }
  const { get } = await testApp(t, { fill })
  const [form, key, missing] = [a.form._id, keyOf('Age?'), 'missing=-99,NA']
  const ask = async (path: string) => (await get(`/v1/${path}`, A)).json()
  const counted = async (query: string) => (await ask(`summaries/entries?form=${form}&${query}`)).data
  const all = await counted(`measure=${key}`)
  const [{ count, answer }] = await counted(`measure=${key}&${missing}`)
  t.match([all, count, answer], [[{ answer: { count: 3, min: -99 } }], 7, { count: 3, min: 5, max: 7 }])
  const rows = (await counted(`by=${key}&${missing}`)).map((row: Record<string, unknown>) => [row[key], row.count])
  t.same(rows, [
    [null, 3],
    ['5', 1],
    ['5.0', 1],
    ['7', 1],
    ['', 1],
  ])
  const questions = async (query: string) => (await ask(`forms/${form}/questions?${query}`)).data
  t.match(await questions(''), [{ values: 'text', answered: 6, distinct: 6 }, { values: 'date' }])
  t.match(await questions(missing), [{ values: 'number', answered: 4, distinct: 4 }])
  for (const path of ['summaries/entries?by=status', 'checks/entries?minEntries=20', 'checks/agents.csv?minEntries=20'])
    t.match(await ask(`${path}&${missing}`), {
      detail: 'missing has answers of one form, so it must be given with form',
      errors: [{ name: 'missing' }],
    })
  t.match(await ask(`forms/${form}/questions?missing=${Array.from({ length: 21 }, (_, n) => n)}`), {
    errors: [{ name: 'missing', message: /20/ }],
  })
})

t.test('comments stay in the database when numbers are measured', async (t) => {
  const store = testStore(t)
  let bytes = 0
  const aggregate: Store['aggregate'] = async (query, reading) => {
    const list = await store.aggregate(query, reading)
    bytes += sizeOf(list.documents)
    return list
  }
  const { get } = await testApp(t, { store: { ...store, aggregate } })
  const answers = Array.from({ length: 100 }, (_, n) => [
    `${String.fromCodePoint(65 + (n % 26))} ${n}`,
    `सब ${n}`,
    [`a ${n}`],
  ])
  const given = [...answers.flat(), ' 7', ['-1'], [null, '3']]
  await store.insert(
    'entries',
    given.map((answer, n) => ({
      ...{ ...a.entry(n), form: a.form._id },
      answers: [{ type: 'text', question: 'Why?', answer }],
    })) as never,
  )
  const asked = `/v1/summaries/entries?form=${a.form._id}&measure=${keyOf('Why?')}`
  await get(asked, A)
  bytes = 0
  const [{ count, answer }] = (await get(`${asked}&createdBefore=2100-01-01T00:00:00Z`, A)).json().data
  t.match([count, answer], [303, { count: 3, min: -1, max: 7 }])
  t.ok(bytes < 1000, `${bytes} bytes`)
})

t.test('a sum that is too large for a number has no mean, and comes last', async (t) => {
  const most = Number.MAX_VALUE
  const entry = (n: number, agent: string, number: number) => ({
    ...{ ...a.entry(n), form: a.form._id, agent, duration: number },
    answers: [{ type: 'number', question: 'How many?', answer: String(number) }],
  })
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert('entries', [
        ...[entry(1, 'large', most), entry(2, 'large', most), entry(3, 'few', -5)],
        ...[entry(4, 'wide', -most), entry(5, 'wide', most), entry(6, 'wide', most)],
      ]),
  })
  const large = { count: 2, min: most, mean: null, max: most, median: most, p10: most, p90: most }
  for (const [measure, name] of [
    ['duration', 'duration'],
    [keyOf('How many?'), 'answer'],
  ] as const) {
    const query = `form=${a.form._id}&by=agent&measure=${measure}`
    const { data } = (await get(`/v1/summaries/entries?${query}`, A)).json()
    const found = Object.fromEntries(data.map((row: Row) => [row.agent, row[name]]))
    t.same(found.large, large, measure)
    t.match(found.few, { count: 1, mean: -5, median: -5 }, measure)
    t.match(found.wide, { count: 3, min: -most, max: most }, measure)
    t.ok(isPercentile(found.wide.median, [-most, most, most], 0.5), measure)
    t.equal(data.at(-1).agent, 'large', measure)
    t.notMatch((await get(`/v1/summaries/entries.csv?${query}`, A)).body, /Infinity|NaN/)
  }
})

t.test('what is counted for percentiles has a bound', { skip: leftToGate }, async (t) => {
  const choices = (count: number) => Array.from({ length: count }, (_, n) => `${n}`)
  const asked = [300, 30].map((count, n) => ({ type: 't', question: `${n}?`, answer: choices(count) }))
  const reversed = asked.map((each) => ({ ...each, answer: each.answer.toReversed() }))
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        // The database finds two groups: the same answers, in another order. One has 0.5 million values, and the other 4.9.
        Array.from({ length: 119 }, (_, n) => ({
          ...a.entry(n),
          duration: 1.1 ** n,
          answers: n < 10 ? asked : reversed,
        })),
      ),
  })
  const query = `form=${a.form._id}&by=${keyOf('0?')},${keyOf('1?')}`
  t.equal((await get(`/v1/summaries/entries?${query}`, A)).json()._metadata.groups, 9000)
  t.match((await get(`/v1/summaries/entries?${query}&measure=duration`, A)).json().errors, [
    { name: 'by', message: /has more than 5000000 values to count/ },
  ])
})

t.test('what did not change is a 304, whenever it was counted', async (t) => {
  const { get, store } = await testApp(t, {
    settings: { TOTAL_MAX_AGE_MS: '0' },
    fill: async (store) => {
      await store.insert('forms', [a.form])
      await store.insert('entries', [a.entry(1)])
    },
  })
  for (const url of [
    'summaries/entries?by=status',
    'summaries/entries.csv?by=status',
    `forms/${a.form._id}/questions`,
  ]) {
    const first = await get(`/v1/${url}`, A)
    const etag = String(first.headers.etag)
    t.equal((await get(`/v1/${url}`, A, { headers: { 'if-none-match': etag } })).statusCode, 304, url)
    await store.insert('entries', [{ ...a.entry(1), _id: url }])
    t.equal((await get(`/v1/${url}`, A, { headers: { 'if-none-match': etag } })).statusCode, 200, url)
  }
})

t.test('what was counted is kept for a while', async (t) => {
  let count = 0
  const store = testStore(t)
  const { get } = await testApp(t, {
    store: {
      ...store,
      async aggregate(...query) {
        count += 1
        await setTimeout(50)
        return store.aggregate(...query)
      },
    },
    fill: async () => {
      await store.insert('forms', [a.form])
      await store.insert('entries', [a.entry(1)])
    },
  })
  for (const url of [
    'summaries/entries?by=status',
    'summaries/entries?by=createdAt:day',
    `forms/${a.form._id}/questions`,
  ]) {
    const [one, other] = await Promise.all([get(`/v1/${url}`, A), get(`/v1/${url}`, A)])
    t.equal(one?.statusCode, 200)
    t.equal(one?.body, other?.body, 'callers who ask at once get the same')
    const before = count
    t.equal((await get(`/v1/${url}`, A)).body, one?.body)
    t.ok(count - before <= 1, 'only the form itself is read again')
  }
})

t.test('questions with the same mean place are in the order of their texts', async (t) => {
  const orders = ['CAB', 'ABC', 'BCA'].map((order) => [...order])
  const entries = orders.map((questions, n) =>
    a.entry(n, { answers: questions.map((question) => ({ type: 'text', question, answer: 'x' })) as never }),
  )
  const { get } = await testApp(t, {
    fill: async (store) => {
      await store.insert('forms', [a.form])
      await store.insert('entries', entries)
    },
  })
  const { data } = (await get(`/v1/forms/${a.form._id}/questions`, A)).json()
  t.same(
    data.map(({ question }: Row) => question),
    ['A', 'B', 'C'],
  )
})

t.test(
  'a period has the same entries, alone, beside another dimension and with durations',
  { skip: leftToGate },
  async (t) => {
    const each = new Each()
    const hour = 3_600_000
    const { get, store } = await testApp(t, { settings: { TOTAL_MAX_AGE_MS: '0' } })
    let before: string[] = []
    // Around changes of clocks, the ends of weeks, months and years, with times that are none.
    for (const middle of [
      '2024-11-03T05:30:00Z',
      '2024-12-31T23:30:00Z',
      '2025-03-09T07:30:00Z',
      '2026-01-05T00:00:00Z',
    ]) {
      const times = Array.from({ length: 24 }, (_, n) => new Date(Date.parse(middle) + (n - 12) * hour))
      const all = [...times, 'none', null]
      await store.remove('entries', A, before)
      before = all.map((_, n) => `${middle} ${n}`)
      await store.insert('entries', all.map((createdAt, n) => ({ ...a.entry(n), _id: before[n], createdAt })) as never)
      // At the first and the third, the clocks of one zone change. At the others, periods end in all zones.
      const isOfAll = /T(23:30|00:00)/.test(middle)
      const few = isOfAll ? ['UTC'] : ['America/New_York']
      const most = isOfAll ? ZONES : ['UTC', 'America/New_York']
      for (const zone of isThorough ? most : few) {
        for (const by of TIMES) {
          const counted = async (more: string) =>
            (await get(`/v1/summaries/entries?by=${by}${more}&zone=${zone}`, A)).json()
          const [alone, grouped, inOne, measured] = await Promise.all([
            counted(''),
            counted(',project'),
            counted(`&project=${a.entry(0).project}`),
            counted('&measure=duration'),
          ])
          const rows = grouped.data.map(({ project, ...row }: { project: unknown }) => row)
          each.equal(alone.data, rows, `${by} in ${zone}`)
          each.equal(alone.data, inOne.data, `${by} in ${zone}, of a project`)
          const durations = measured.data.map(
            ({ duration, ...row }: { duration: { count: number }; count: number }) => {
              each.equal(duration.count, row.count, `${by} in ${zone}`)
              return row
            },
          )
          each.equal(alone.data, durations, `${by} in ${zone}, with durations`)
          each.equal(alone._metadata.total, all.length, `${by} in ${zone}`)
        }
      }
    }
    each.end(t)
  },
)

t.test('a clock that changes twice within some days divides the days where it changes', async (t) => {
  const zone = 'Asia/Gaza'
  const times = Array.from({ length: 12 * 48 }, (_, n) => new Date(Date.UTC(2040, 9, 18) + n * 1_800_000))
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        times.map((createdAt, n) => ({ ...a.entry(n), createdAt })),
      ),
  })
  const days = times.map((time) => dayOf(time.toISOString(), zone))
  for (const [by, periodOf] of [
    ['createdAt:day', (day: string) => day],
    ['createdAt:week', mondayOf],
  ] as const) {
    const counts: Record<string, number> = {}
    for (const value of days.map(periodOf)) counts[value] = (counts[value] ?? 0) + 1
    const { data } = (await get(`/v1/summaries/entries?by=${by}&zone=${zone}`, A)).json()
    const found = data.map(({ count, ...row }: { count: number }) => [(row as Record<string, string>)[by], count])
    t.same(Object.fromEntries(found), counts, by)
    if (by === 'createdAt:day') t.same([counts['2040-10-20'], counts['2040-10-27']], [46, 50])
  }
})

t.test('entries that come and go while periods are counted make no group without a value', async (t) => {
  const store = testStore(t)
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    const list = await store.aggregate(query, reading)
    if (query.stages.some(({ $group }) => $group !== undefined)) await store.remove('entries', A, gone)
    return list
  }
  const all = Array.from({ length: 300 }, (_, n) => ({ ...a.entry(n), createdAt: new Date(Date.UTC(2025, n % 2, 1)) }))
  const gone = all.slice(0, 30).map(({ _id }) => _id)
  const { get } = await testApp(t, { store: { ...store, aggregate }, fill: () => store.insert('entries', all) })
  t.same((await get('/v1/summaries/entries?by=createdAt:month', A)).json().data, [
    { 'createdAt:month': '2025-01', count: 150 },
    { 'createdAt:month': '2025-02', count: 150 },
  ])
})

t.test(
  'more than 500 groups are counted without holding up others, and 10,000 rows are a file',
  { skip: leftToGate },
  async (t) => {
    const answers = (n: number) => [
      {
        type: 't',
        question: 'Q',
        answer: Array.from({ length: n < 10 ? 1000 : 1 }, (_, i) => `answer ${1000 * n + i}`),
      },
    ]
    const { get } = await testApp(t, {
      fill: async (store) => {
        await store.insert('forms', [a.form])
        const all = Array.from({ length: 11 }, (_, n) => ({ ...a.entry(n), form: a.form._id, answers: answers(n) }))
        await store.insert('entries', all)
      },
    })
    const query = `form=${a.form._id}&by=${keyOf('Q')}`
    const { _metadata } = (await get(`/v1/summaries/entries?${query}`, A)).json()
    t.same([_metadata.groups, _metadata.others], [10_001, { groups: 9001, count: 9001 }])
    const whole = await get(`/v1/summaries/entries.csv?${query}`, A)
    t.equal(whole.statusCode, 400)
    t.match(whole.json().detail, /by makes 10001 groups, and without top a file has at most 10000/)
    t.equal((await get(`/v1/summaries/entries.csv?${query}&top=10000`, A)).body.split('\r\n').length, 10_002)
  },
)

t.test('kept counts have an end', { skip: leftToGate }, async (t) => {
  const inner = testStore(t)
  let counted = 0
  const aggregate: Store['aggregate'] = (...args) => {
    counted += 1
    return inner.aggregate(...args)
  }
  const { get } = await testApp(t, {
    store: { ...inner, aggregate },
    fill: (store) =>
      store.insert(
        'entries',
        Array.from({ length: 175 }, (_, n) => ({ ...a.entry(n), agent: `${n}`.padEnd(2000, '\u0001') })),
      ),
  })
  // Each count takes more than 4 MB of memory, as JSON has six characters for one of these, and there are 16 MiB for all.
  for (const [n, times] of [1, 2, 3, 4, 5, 3, 4, 5, 1].map((n, i) => [n, Math.min(i + 1, 5) + Number(i === 8)])) {
    await get(`/v1/summaries/entries?by=agent&top=1&createdBefore=${3000 + Number(n)}-01-01T00:00:00Z`, A)
    t.equal(counted, times)
  }
})

t.test('a record that belongs to nobody shows no value', async (t) => {
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert('entries', [
        a.entry(1),
        { ...a.entry(2), organisation: [A, B] as never, status: 'secret', createdAt: new Date(0) },
        { ...a.entry(3), organisation: [A, B] as never },
      ]),
  })
  for (const by of ['status', 'status,form', 'createdAt:year,status', 'createdAt:day,location.state']) {
    const { body } = await get(`/v1/summaries/entries?by=${by}`, A)
    t.notOk(body.includes('secret'), by)
    t.notOk(body.includes('1970'), by)
    t.equal(JSON.parse(body)._metadata.total, 1, by)
  }
})

t.test('values of all types are text, or nothing', async (t) => {
  const odd = [
    5,
    true,
    null,
    new Date(0),
    ['a'],
    { b: 1 },
    Long.fromNumber(5),
    new ObjectId('65036b210000030000000000'),
  ]
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        odd.map((value, n) => ({
          ...a.entry(n),
          status: value,
          createdAt: n === 3 ? value : '2025',
          duration: value,
        })) as never,
      ),
  })
  const counted = async (query: string) => (await get(`/v1/summaries/entries?${query}`, A)).json()
  const { data, _metadata } = await counted('by=status&measure=duration')
  t.strictSame(data, [
    { status: null, count: 8, duration: { count: 2, min: 5, mean: 5, max: 5, median: 5, p10: 5, p90: 5 } },
  ])
  t.equal(_metadata.total, 8)
  t.strictSame((await counted('by=createdAt:month')).data, [
    { 'createdAt:month': '1970-01', count: 1 },
    { 'createdAt:month': null, count: 7 },
  ])
})

t.test('odd answers are counted as far as they say something', async (t) => {
  const answers = [
    null,
    'x',
    { question: 5, type: 't', answer: 'x' },
    { question: 'Q', type: 3, answer: [true, 'a', 5] },
    { question: 'Q2', type: 't', answer: { a: 1 } },
  ]
  for (const createdAt of [new Date(0), 'none']) {
    const { get } = await testApp(t, {
      fill: async (store) => {
        await store.insert('forms', [a.form])
        const odd = { ...a.entry(1), form: a.form._id, answers, createdAt }
        const none = { ...a.entry(2), form: a.form._id, answers: 'none', createdAt }
        await store.insert('entries', [odd, none] as never)
      },
    })
    const { data, _metadata } = (await get(`/v1/forms/${a.form._id}/questions`, A)).json()
    const times =
      createdAt === 'none' ? {} : { firstAnswered: new Date(0).toISOString(), lastAnswered: new Date(0).toISOString() }
    t.equal(_metadata.entries, 2)
    t.same(
      data.map(({ key, position, ...question }: { key: string; position: number }) => question),
      [
        {
          question: 'Q',
          types: [],
          values: 'text',
          answered: 1,
          distinct: 2,
          choices: [
            { answer: '5', count: 1 },
            { answer: 'a', count: 1 },
          ],
          others: 0,
          ...times,
        },
        { question: 'Q2', types: ['t'], values: 'text', answered: 0, distinct: 0, choices: [], others: 0 },
      ],
      String(createdAt),
    )
  }
})

t.test('too many questions and groups have an end', { skip: leftToGate }, async (t) => {
  const store = testStore(t)
  // Of seven entries, the answers to one question take more than 64 MiB: they are long, or many.
  const [given, rest] = isThorough ? [100_000, ''] : [200, 'x'.repeat(25_000)]
  const { get } = await testApp(t, {
    settings: { TOTAL_MAX_AGE_MS: '0' },
    store,
    fill: async () => {
      const forms = ['many words', 'many questions', 'many choices', 'long']
      await store.insert(
        'forms',
        forms.map((_id) => ({ ...a.form, _id })),
      )
      const words = Array.from({ length: 7 }, (_, n) => ({
        ...{ ...a.entry(n + 20), form: 'many words' },
        answers: [{ type: 't', question: 'Q', answer: Array.from({ length: given }, (_, i) => `${n} ${i}${rest}`) }],
      }))
      // They are on a page behind the others.
      const few = Array.from({ length: 50 }, (_, n) => ({
        ...{ ...a.entry(n + 30), form: 'many words' },
        answers: ['Q', 'R'].map((question) => ({ type: 't', question, answer: 'late' })),
      }))
      await store.insert('entries', [...words, ...few] as never)
      const asked = (form: string, questions: number, answer: unknown) => {
        const answers = Array.from({ length: questions }, (_, n) => ({ type: 't', question: `Question ${n}`, answer }))
        return { form, answers }
      }
      const choices = Array.from({ length: 100_001 }, (_, n) => String(n))
      // JSON has six characters for each of these.
      const long = Array.from({ length: 5 }, (_, n) => ({
        ...{ ...a.entry(n + 10), ...asked('long', 1, `${n}${'\u0001'.repeat(600_000)}`) },
      }))
      await store.insert('entries', [
        { ...a.entry(1), ...asked('many questions', 2001, 'x') },
        { ...a.entry(2), ...asked('many choices', 1, choices) },
        ...long,
        { ...a.entry(4), dispatch: undefined },
      ] as never)
    },
  })
  const detail = async (url: string): Promise<string> => (await get(`/v1/${url}`, A)).json().detail
  t.match(await detail('forms/many%20questions/questions'), /^id has more than 2000 questions$/)
  t.match(
    await detail(`summaries/entries?form=many%20questions&by=${keyOf('none')}`),
    /^by has [0-9a-f]{12}, but must have/,
  )
  const [open, closed] = (await get('/v1/forms/many%20words/questions', A)).json().data
  t.match(closed, { question: 'R', distinct: 1, choices: [{ answer: 'late', count: 50 }] })
  t.match(open, { answered: 57, choices: [], others: 7 * given + 50 }, 'too many to count each')
  t.ok(open.distinct > 5 * given && open.distinct <= 7 * given + 1, `at least ${open.distinct}`)
  const byAnswer = (form: string) => detail(`summaries/entries?form=${form}&by=${keyOf('Question 0')}`)
  t.equal(await byAnswer('many%20choices'), 'by makes more than 100000 groups: a narrower filter may help')
  t.match(await byAnswer('long'), /^by makes groups of more than 16777216 characters: a narrower/)
  const named = (await get('/v1/summaries/entries?by=status,dispatch&names=true', A)).json()
  t.ok(named.data.some(({ dispatch }: { dispatch: unknown }) => dispatch === null))
})

t.test('groups of two dimensions take memory for those that there are alone', { skip: leftToGate }, async (t) => {
  const store = testStore(t)
  const group = (n: number) => ({ _id: { by0: [`answer ${n}`], by1: `day ${n % 1000}` }, count: 1 })
  const groups = Array.from({ length: 10_000 }, (_, n) => Buffer.from(BSON.serialize(group(n))))
  let [least, most, turn] = [0, 0, 0]
  let isOver = false
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    const list = await store.aggregate(query, reading)
    if (!query.stages.some(({ $group }) => $group !== undefined)) return list
    const sample = () => {
      turn += 1
      if (turn % 24 === 0) most = Math.max(most, heapUsed())
      if (!isOver) setImmediate(sample)
    }
    least = heapUsed()
    sample()
    return new BsonList('entries', groups)
  }
  const answers = [{ type: 't', question: 'Q', answer: 'a' }]
  const fill = () => store.insert('entries', [{ ...a.entry(1), form: a.form._id, answers }] as never)
  const { get } = await testApp(t, { store: { ...store, aggregate }, fill })
  const by = `${keyOf('Q')},createdAt:day`
  const { _metadata } = (await get(`/v1/summaries/entries?form=${a.form._id}&by=${by}&top=1`, A)).json()
  isOver = true
  t.equal(_metadata.groups, 10_000)
  t.ok(most > 0 && most - least < 20_000_000, `an array of days for each answer takes more: ${most - least}`)
})

t.test('a database that finds too many groups', async (t) => {
  const store = testStore(t)
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    const { documents } = await store.aggregate(query, reading)
    const isGroups = query.stages.some(({ $group }) => $group !== undefined)
    return new BsonList(
      'entries',
      isGroups ? Array(100_001).fill(documents[0]?.bytes) : documents.map(({ bytes }) => bytes),
    )
  }
  const fill = () => store.insert('entries', [a.entry(1)])
  const { get } = await testApp(t, { store: { ...store, aggregate }, fill })
  const { detail } = (await get('/v1/summaries/entries?by=status', A)).json()
  t.equal(detail, 'by makes more than 100000 groups: a narrower filter may help')
})

t.test('what takes too long says so', { skip: leftToGate }, async (t) => {
  const store = testStore(t)
  let isLate = false
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    if (isLate && query.collection === 'entries') throw new QueryTimeout(new Error('late'))
    return store.aggregate(query, reading)
  }
  const { get } = await testApp(t, {
    settings: { TOTAL_MAX_AGE_MS: '0' },
    store: { ...store, aggregate },
    fill: async () => {
      await store.insert('forms', [a.form])
      await store.insert(
        'entries',
        Array.from({ length: 100 }, (_, n) => a.entry(n)),
      )
    },
  })
  const ofForm = `forms/${a.form._id}/questions`
  const unknown = `entries?form=${a.form._id}&answered=${keyOf('asked by nobody')}`
  const problem = async (url: string) => {
    const { statusCode, body } = await get(`/v1/${url}`, A)
    const { code, detail } = JSON.parse(body)
    return [statusCode, code, detail]
  }
  isLate = true
  const tooLong = (what: string) => [503, 'query_timeout', `The database took too long for ${what}`]
  t.same(await problem(ofForm), tooLong('form: try again later'))
  t.same(await problem(unknown), tooLong('form: try again later'))
  const byStatus = `summaries/entries?form=${a.form._id}&by=status`
  t.same(await problem(byStatus), tooLong('by, form: a narrower filter may help'))
  const all = [503, 'query_timeout', 'The database took too long: a narrower filter may help']
  t.same(await problem('summaries/entries'), all)
  isLate = false
  // However long the walk over a form takes: here a minute passes at every look at the clock.
  const now = performance.now.bind(performance)
  let minutes = 0
  t.intercept(performance, 'now', { value: () => now() + 60_001 * ++minutes, configurable: true })
  t.equal((await get(`/v1/${ofForm}`, A)).statusCode, 200)
})

t.test('the clock of a zone may differ from UTC by seconds', async (t) => {
  const times = ['1971-12-31T00:44:29Z', '1971-12-31T00:44:30Z', '1972-01-07T00:44:29Z', '1972-01-07T00:44:30Z'].map(
    (time) => new Date(time),
  )
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        times.map((createdAt, n) => ({ ...a.entry(n), createdAt })),
      ),
  })
  t.same((await get('/v1/summaries/entries?by=createdAt:day&zone=Africa/Monrovia', A)).json().data, [
    { 'createdAt:day': '1971-12-30', count: 1 },
    { 'createdAt:day': '1971-12-31', count: 1 },
    { 'createdAt:day': '1972-01-06', count: 1 },
    { 'createdAt:day': '1972-01-07', count: 1 },
  ])
})

t.test('the ends of time and of the earth', async (t) => {
  const at = (longitude: number, lattitude: number) => ({ location: { coordinates: { longitude, lattitude } } })
  const { get, store } = await testApp(t, {
    settings: { TOTAL_MAX_AGE_MS: '0' },
    fill: (store) =>
      store.insert('entries', [
        ...Array.from({ length: 30 }, (_, n) => ({ ...a.entry(n), createdAt: new Date('9999-12-31T12:00:00Z') })),
        { ...a.entry(400), createdAt: new Date('9999-12-31T23:59:59.999Z'), ...at(180, 90) },
        { ...a.entry(401), createdAt: new Date('0001-01-01T00:00:00Z'), ...at(-180, -90) },
        { ...a.entry(402), createdAt: new Date('0001-01-01T12:00:00Z'), ...at(180.001, 0) },
      ]),
  })
  const data = async (query: string) => (await get(`/v1/summaries/entries?${query}`, A)).json().data
  for (const [by, first, last] of [
    ['createdAt:day', '0001-01-01', '9999-12-31'],
    ['createdAt:week', '0001-01-01', '9999-12-27'],
    ['createdAt:year', '0001', '9999'],
  ] as const) {
    for (const [zone, early, late] of [
      ['UTC', 2, 31],
      ['Africa/Lagos', 2, 30],
      ['America/St_Johns', 1, 31],
    ] as const) {
      const counts = [[first, early], [last, late], ...(early + late < 33 ? [[null, 33 - early - late]] : [])]
      const rows = counts.map(([value, count]) => ({ [by]: value, count }))
      for (const query of [`by=${by}`, `by=${by}&createdSince=9999-01-01T00:00:00Z`]) {
        const expected = query.includes('Since')
          ? rows.slice(1).filter((row) => zone !== 'America/St_Johns' || row[by] !== null)
          : rows
        t.same(await data(`${query}&zone=${zone}`), expected, `${query} in ${zone}`)
      }
      const both = (await data(`by=${by},project&zone=${zone}`)).map(({ project, ...row }: { project: unknown }) => row)
      t.same(both, rows, `${by} and project in ${zone}`)
    }
  }
  t.same((await data('by=location:5')).map((row: Record<string, unknown>) => row['location:5']).slice(1), [
    { longitude: -177.5, lattitude: -87.5 },
    { longitude: 177.5, lattitude: 87.5 },
    null,
  ])
  await store.insert('entries', [{ ...a.entry(403), createdAt: [new Date('9999-12-31T23:59:59.999Z')] } as never])
  const years = await data('by=createdAt:year')
  t.same(years, [
    { 'createdAt:year': '0001', count: 2 },
    { 'createdAt:year': '9999', count: 31 },
    { 'createdAt:year': null, count: 1 },
  ])
})

t.test('what is answered is one thing for lists, summaries and questions', async (t) => {
  const entry = (n: number, answer: unknown) => ({
    ...{ ...a.entry(n), form: a.form._id },
    answers: [{ type: 't', question: 'Q', answer }],
  })
  const { get } = await testApp(t, {
    fill: async (store) => {
      await store.insert('forms', [a.form])
      const answers = [['a', null], ['a', 'a', ''], '', 5, ['b', 'b'], [], [null], null, true, { a: 1 }, undefined]
      await store.insert('entries', answers.map((answer, n) => entry(n, answer)) as never)
    },
  })
  const of = `form=${a.form._id}`
  const [{ key, answered, distinct, choices }] = (await get(`/v1/forms/${a.form._id}/questions`, A)).json().data
  t.same((await get(`/v1/entries?${of}&answered=${key}&fields=id`, A)).json()._metadata.total, 5)
  t.same([answered, distinct], [5, 4])
  const expected = [
    ['', 2],
    ['a', 2],
    ['5', 1],
    ['b', 1],
  ]
  t.same(
    choices.map(({ answer, count }: { answer: string; count: number }) => [answer, count]),
    expected,
  )
  const { data } = (await get(`/v1/summaries/entries?${of}&by=${key}`, A)).json()
  const rows = data.map((row: Record<string, unknown>) => [row[key], row.count])
  t.same(rows, [[null, 6], ...expected])
  for (const [answer, count] of expected) {
    const { _metadata } = (await get(`/v1/entries?${of}&answered=${key}=${answer}&fields=id`, A)).json()
    t.equal(_metadata.total, count, `answered=${answer}`)
  }
  t.same((await get('/v1/summaries/entries?by=createdAt:year', B)).json().data, [], 'and without entries there is none')
})

t.test('places that are as frequent stand from west to east, and from south to north', async (t) => {
  const places = [
    [10, 9],
    [10, -9],
    [-20, 0],
  ]
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        places.map(([longitude = 0, lattitude = 0], n) => ({
          ...a.entry(n),
          location: { coordinates: { longitude, lattitude } } as never,
        })),
      ),
  })
  const { data } = (await get('/v1/summaries/entries?by=location:1', A)).json()
  const found = data.map((row: Record<string, { longitude: number; lattitude: number }>) => row['location:1'])
  t.same(
    found.map(({ longitude, lattitude }: { longitude: number; lattitude: number }) => [longitude, lattitude]),
    [
      [-19.5, 0.5],
      [10.5, -8.5],
      [10.5, 9.5],
    ],
  )
})

t.test('a Decimal128 is no number', async (t) => {
  const decimal = new Decimal128('10')
  const coordinates = { longitude: decimal, lattitude: decimal }
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert('entries', [
        { ...a.entry(1), duration: 5 },
        { ...a.entry(2), duration: decimal, location: { coordinates } },
      ] as never),
  })
  const { data } = (await get('/v1/summaries/entries?by=form&measure=duration', A)).json()
  t.same(data[0].duration, { count: 1, min: 5, mean: 5, max: 5, median: 5, p10: 5, p90: 5 })
  const cells = (await get('/v1/summaries/entries?by=location:5&measure=duration', A)).json().data
  const [nowhere] = cells.filter((row: Record<string, unknown>) => row['location:5'] === null)
  t.match(nowhere, { count: 1, duration: { count: 0, mean: null, median: null } })
})

t.test('entries without a place are one group, whatever two fields of places they are counted by', async (t) => {
  const { get } = await testApp(t, {
    fill: (store) => store.insert('entries', [1, 2].map((n) => ({ ...a.entry(n), location: undefined })) as never),
  })
  const { data } = (await get('/v1/summaries/entries?by=location.country,location.lga', A)).json()
  t.same(data, [{ 'location.country': null, 'location.lga': null, count: 2 }])
})

t.test('an answer that is a Decimal128 is none, and takes no equal number with it', async (t) => {
  const question = 'How many?'
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert(
        'entries',
        [new Decimal128('5'), 5, 5].map((answer, n) => ({
          ...{ ...a.entry(n), form: a.form._id },
          answers: [{ type: 't', question, answer }],
        })) as never,
      ),
  })
  const [form, key] = [a.form._id, keyOf(question)]
  const { data } = (await get(`/v1/summaries/entries?form=${form}&by=${key}`, A)).json()
  t.same(
    data.map((row: Record<string, unknown>) => [row[key], row.count]),
    [
      ['5', 2],
      [null, 1],
    ],
  )
  for (const answered of [key, `${key}=5`]) {
    const { _metadata } = (await get(`/v1/entries?form=${form}&answered=${answered}&fields=id`, A)).json()
    t.equal(_metadata.total, 2, answered)
  }
})

t.test('two questions with many answers have an end', { skip: leftToGate }, async (t) => {
  const words = (name: string, n: number, length = 200) =>
    Array.from({ length }, (_, i) => `${name} ${(i + n) % length}`)
  const { get } = await testApp(t, {
    fill: async (store) => {
      await store.insert('forms', [a.form])
      const all: [status: string, first: number, length?: number][] = [
        ['few', 0],
        ['few', 1],
        ['wide', 0, 400],
        ['many', 0, 2237],
      ]
      const made = all.map(([status, first, length], n) => ({
        ...{ ...a.entry(n), form: a.form._id, status },
        answers: ['x', 'y'].map((question) => ({ type: 't', question, answer: words(question, first, length) })),
      }))
      await store.insert('entries', made as never)
    },
  })
  const by = `form=${a.form._id}&by=${keyOf('x')},${keyOf('y')}`
  const { data, _metadata } = (await get(`/v1/summaries/entries?${by}&status=few&top=1`, A)).json()
  t.same([_metadata.groups, data[0].count], [40_000, 2])
  for (const [status, fault] of [
    ['many', 'has more than 5000000 values to count'],
    ['wide', 'makes more than 100000 groups'],
  ]) {
    const { detail } = (await get(`/v1/summaries/entries?${by}&status=${status}`, A)).json()
    t.equal(detail, `by ${fault}: a narrower filter may help`)
  }
})

t.test('what is shown of questions is bounded', { skip: leftToGate }, async (t) => {
  const long = 'x'.repeat(500_000)
  const asked: Record<string, object[]> = {
    types: [
      { question: 'Q', type: 'x'.repeat(100), answer: 'a' },
      { question: 'Q', type: 'x'.repeat(101), answer: 'a' },
    ],
    choices: [{ question: 'Q', type: 't', answer: [...Array.from({ length: 1001 }, (_, n) => String(n)), 'a'] }],
    texts: [
      { question: 'P', type: 't', answer: 'a' },
      { question: 'Q', type: 't', answer: Array.from({ length: 20 }, (_, n) => `${n} ${long}`) },
    ],
    questions: [{ question: 'x'.repeat(5_000_000), type: 't', answer: 'a' }],
  }
  const store = testStore(t)
  let reads = 0
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    if (query.collection === 'entries') reads += 1
    return store.aggregate(query, reading)
  }
  const { get } = await testApp(t, {
    store: { ...store, aggregate },
    fill: async () => {
      for (const [form, answers] of Object.entries(asked)) {
        await store.insert('forms', [{ ...a.form, _id: form }])
        await store.insert('entries', [{ ...a.entry(1), _id: form, form, answers }] as never)
      }
    },
  })
  const questions = async (form: string) => (await get(`/v1/forms/${form}/questions`, A)).json()
  t.same((await questions('types')).data[0].types, ['x'.repeat(100)])
  const [choices] = (await questions('choices')).data
  t.same([choices.distinct, choices.choices.length, choices.others], [1002, 1000, 2])
  const [first, second] = (await questions('texts')).data
  t.same(first.choices, [{ answer: 'a', count: 1 }])
  t.same([second.distinct, second.choices.length, second.others], [20, 8, 12], 'as many as fit into 8 MiB')
  reads = 0
  await questions('texts')
  t.equal(reads, 0, 'it is kept')
  t.equal((await questions('questions')).detail, 'id has questions of more than 4194304 bytes')
})

t.test(
  'a long form with an open question has questions, and what is left of their memory is whole bytes',
  async (t) => {
    const answers = (n: number) => [
      { type: 't', question: 'Open?', answer: `${n}${'x'.repeat(200)}` },
      ...Array.from({ length: n === 0 ? 99 : 0 }, (_, i) => ({ type: 't', question: `${i}?`, answer: 'a' })),
    ]
    const { get } = await testApp(t, {
      fill: async (store) => {
        await store.insert('forms', [a.form])
        const entries = Array.from({ length: 600 }, (_, n) => ({
          ...a.entry(n),
          form: a.form._id,
          answers: answers(n),
          ...(n === 1 && { createdAt: new Date(8.64e15) }),
        }))
        await store.insert('entries', entries as never)
      },
    })
    const response = await get(`/v1/forms/${a.form._id}/questions`, A)
    t.equal(response.statusCode, 200, response.body.slice(0, 200))
    const { data } = response.json()
    t.same([data.length, data[0].choices.length + data[0].others, data[0].distinct], [100, 600, 600])
    t.ok(data[0].others > 0, 'its part of the memory has not all of its answers')
    t.match(data[0].lastAnswered, /^2\d{3}-/, 'a date that no response can show does not count')
  },
)

t.test('a question is looked for to the end, and a wrong key not again at once', async (t) => {
  const store = testStore(t)
  let reads = 0
  // Each read takes a minute.
  t.intercept(performance, 'now', { value: () => 60_000 * reads, configurable: true })
  const aggregate = async (...[query, reading]: Parameters<Store['aggregate']>) => {
    if (query.collection === 'entries') reads += 1
    return store.aggregate(query, reading)
  }
  const entry = (n: number, question: string) => ({
    ...{ ...a.entry(n), form: a.form._id },
    answers: [{ type: 't', question, answer: 'x' }],
  })
  const { get } = await testApp(t, {
    store: { ...store, aggregate },
    fill: async () => {
      await store.insert('forms', [a.form])
      // Texts of other questions are remembered up to a bound.
      const others = Array.from({ length: 300 }, (_, n) => entry(n, `${n}${'x'.repeat(n === 1 ? 2_000_000 : 10)}`))
      await store.insert('entries', [...others, entry(999, 'Asked last?')])
    },
  })
  const answered = (question: string) => get(`/v1/entries?form=${a.form._id}&answered=${keyOf(question)}`, A)
  t.equal((await answered('Asked last?')).json()._metadata.total, 1)
  t.equal((await answered('Never asked?')).statusCode, 400)
  const before = reads
  t.equal((await answered('Never asked?')).statusCode, 400)
  t.equal(reads, before)
})
