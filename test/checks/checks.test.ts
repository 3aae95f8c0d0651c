// Each check flags what it is for, and nothing beside it. examples/second_look.py is compared with all of them on random data.
import t, { type Test } from 'tap'
import { agentChecks, type CheckedAgent, type CheckedEntry, ChecksTableQuery, type Flag } from '../../schemas/checks.js'
import { Findings } from '../../src/checks/checks.js'
import { Entries } from '../../src/checks/entries.js'
import { open } from '../../src/checks/job.js'
import type { Documents } from '../../src/core/documents/collections.js'
import { Query } from '../../src/core/pipelines/stages.js'
import { changesIn } from '../../src/core/read/local-time.js'
import type { Store } from '../../src/core/store/store.js'
import { questionKey } from '../../src/core/write/question-columns.js'
import { testApp } from '../support/app.js'
import { documentOf, stored } from '../support/stored.js'
import { A, a, fillTenants } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'

type Entry = Documents['entries']
type Changes = Partial<Omit<Entry, 'location'>> & { location?: unknown }

/** Entries that no check flags: each is unlike the others. */
const usual = (n: number, changes: Changes = {}): Entry =>
  ({
    ...a.entry(n),
    _id: `usual-${String(n).padStart(3, '0')}`,
    duration: 100 + 7 * (n % 13),
    createdAt: new Date(Date.UTC(2025, 2, 1, 12, n)),
    location: {
      country: 'Nigeria',
      state: 'Kano',
      coordinates: { longitude: 8.5 + (n % 7) / 100, lattitude: 12 + (n % 11) / 100 },
    },
    answers: [
      ...['Source?', 'Owner?', 'Depth?', 'Cover?', 'Distance?'].map((question, i) => ({
        ...{ type: 'singleChoice', question, answer: `choice ${(n * (i + 2)) % (i === 4 ? 7 : 5)}` },
      })),
      { type: 'number', question: 'How many?', answer: String(1 + (n % 13)) },
    ],
    ...changes,
  }) as Entry

const FEW = 40

/** The texts of questions by their keys. */
const textsOf = (keys: string | null) =>
  ['House?', 'Line?', 'Age?'].filter((question) => keys?.split(',').includes(questionKey(question)))

/** What the job finds of the usual entries, without a thread. */
const checkedHere = async (store: Store, query: URLSearchParams) => {
  const { minEntries } = ChecksTableQuery.properties
  const form = query.get('form')
  const conditions = [{ _id: { $gte: 'usual', $lt: 'usuam' } }, ...(form === null ? [] : [{ form }])]
  const found = await store.aggregate(Query.in({ organisation: A }, 'entries', conditions, [{ $sort: { _id: 1 } }]))
  const job = open({
    checks: agentChecks.filter(
      (check) =>
        (query.get('checks')?.split(',').includes(check) ?? true) && (check !== 'repeated' || query.has('unique')),
    ),
    unique: textsOf(query.get('unique')),
    questions: textsOf(query.get('questions')),
    minEntries: Number(query.get('minEntries') ?? minEntries.default),
    size: found.documents.length,
    most: 64 * 1024 * 1024,
    changes: await changesIn(query.get('zone') ?? 'UTC'),
    shown: undefined,
  })
  job.add(found.documents.map(({ bytes }) => bytes))
  const [head = '', ...lines] = String(Buffer.from(job.end().bytes as Uint8Array)).split('\n')
  const { length, agents } = JSON.parse(head)
  const rows = lines.filter(Boolean).map((line) => JSON.parse(line))
  return { entries: rows.slice(0, length), agents: rows.slice(length, length + agents) }
}

const service = testApp(t, { settings: { TOTAL_MAX_AGE_MS: '0' }, fill: fillTenants })
let before: string[] = []

/** The service, whose form has usual entries and some more, with what is checked. What it had before is gone. */
const checked = async (t: Test, more: readonly Changes[], count = FEW) => {
  const all = [...Array.from({ length: count }, (_, n) => usual(n)), ...more.map((each, n) => usual(count + n, each))]
  const { get, store } = await service
  for await (const _ of store.dangerouslyErase('entries', { _id: { $in: before } }));
  before = all.map(({ _id }) => _id)
  await store.insert('entries', all)
  const read = async <R>(path: string) => {
    const response = await get(`/v1/checks/${path}`, A)
    t.equal(response.statusCode, 200, response.body.slice(0, 200))
    const found = response.json() as { data: R[]; _metadata: Record<string, unknown> }
    const { pathname, searchParams } = new URL(path, 'http://localhost')
    const isWhole = !searchParams.has('agent') && searchParams.has('idFrom')
    if (isWhole) t.same(found.data, (await checkedHere(store, searchParams))[pathname.slice(1) as 'entries'])
    return found
  }
  const flags = async (query = '') => {
    const { data } = await read<CheckedEntry>(`entries?form=${a.form._id}&perPage=1000&idFrom=usual&idTo=usuam${query}`)
    return Object.fromEntries(data.map(({ id, flags }) => [Number(id.slice(6)), flags])) as Record<number, Flag[]>
  }
  const agents = async (query = '') =>
    (await read<CheckedAgent>(`agents?form=${a.form._id}&idFrom=usual&idTo=usuam${query}`)).data
  return { get, read, flags, agents }
}

const checksOf = (flags: Record<number, Flag[]>) =>
  Object.fromEntries(
    Object.entries(flags).map(([n, of]) => [n, of.map(({ check, reason }) => [check, reason].filter(Boolean).join())]),
  )

t.test('Usual entries have no flag', async (t) => {
  t.same(await (await checked(t, [])).flags(), {})
})

t.test('A duration is short or long beside those of its form', async (t) => {
  const { flags } = await checked(t, [{ duration: 20 }, { duration: 900 }, { duration: 0 }, { duration: -5 }])
  const found = await flags()
  t.same(checksOf(found), { 40: ['short'], 41: ['long'], 42: ['short'], 43: ['short'] })
  const [{ value, expected, n }] = found[40] as [Flag]
  t.equal(value, 20)
  t.equal(n, FEW + 2, 'of 0 and less there is no logarithm')
  t.ok(Number(expected[0]) > 20 && Number(expected[0]) < 100)
  t.ok(Number(expected[1]) > 184 && Number(expected[1]) < 900)
})

t.test('Where most durations are equal, none is short or long', async (t) => {
  const equal = Array.from({ length: 60 }, () => ({ duration: 120 }))
  const { flags } = await checked(t, [...equal, { duration: 1 }])
  t.same(await flags(), {})
})

t.test('The later of two entries with the same answers is a copy, and names the earlier', async (t) => {
  const { answers } = usual(3)
  const before = new Date(Date.UTC(2024, 0, 1))
  const { flags } = await checked(t, [{ answers }, { answers: answers.slice(0, 4) }, { answers: answers.slice(0, 4) }])
  t.match(await flags('&checks=copy'), { 40: [{ check: 'copy', value: 'usual-003', expected: [null, null], n: 2 }] })
  const other = await checked(t, [
    { answers, createdAt: before },
    { answers, createdAt: before },
  ])
  t.match(await other.flags(), { 3: [{ value: 'usual-040', n: 3 }], 41: [{ value: 'usual-040' }] })
})

t.test('Entries of two forms with the same answers are no copies', async (t) => {
  const { answers } = usual(3)
  const { read } = await checked(t, [{ answers, form: 'other' }, { answers }])
  const { data } = await read<CheckedEntry>('entries?checks=copy&idFrom=usual&idTo=usuam')
  t.same(
    data.map(({ id }) => id),
    ['usual-041'],
  )
})

t.test('A number and its text are the same answer, and what gives no text is none', async (t) => {
  const { answers } = usual(3)
  const asNumber = [...answers.slice(0, 5), { ...answers[5], answer: 4 }] as never
  const withNone = [...answers, { type: 'text', question: 'Why?', answer: [null, ''] }] as never
  const { flags } = await checked(t, [{ answers: asNumber }, { answers: withNone }])
  t.same(checksOf(await flags()), { 40: ['copy'], 41: ['copy'] })
})

t.test('An entry is incomplete with less than half of the answers of the median one', async (t) => {
  const { answers } = usual(3)
  const { flags } = await checked(t, [
    { answers: answers.slice(0, 2) },
    { answers: answers.slice(0, 3) },
    { answers: [] },
  ])
  const found = await flags()
  t.same(checksOf(found), { 40: ['incomplete'], 42: ['incomplete'] })
  t.match(found[40], [{ value: 2, expected: [3, null], n: FEW + 3 }])
})

t.test('A number is far outside the quartiles of its question', async (t) => {
  const long = `How many${'?'.repeat(300)}`
  const asked = (answer: unknown, question = 'How many?', type = 'number') =>
    ({ answers: [...usual(3).answers.slice(0, 4), { type, question, answer }] }) as Changes
  const { flags } = await checked(t, [
    ...[asked('4000'), asked(4000), asked(['-4000.5']), asked('4000 or so'), asked(['4000', '1'])],
    ...[asked(Number.NaN), asked('4000', 'Other?'), asked('4000', 'How many?', 'singleChoice')],
    ...Array.from({ length: 20 }, (_, n) => asked(String(n % 10), long)),
    asked('4000', long),
  ])
  const found = await flags('&checks=number')
  t.same(Object.keys(found), ['40', '41', '42', String(FEW + 28)])
  t.match(found[40], [{ check: 'number', question: 'How many?', key: /^[\da-f]{12}$/, value: 4000, n: FEW + 3 }])
  t.match(found[42], [{ value: -4000.5 }])
  t.equal(found[FEW + 28]?.[0]?.question?.length, 200)
})

t.test(
  'Of skewed numbers the positive ones make bounds, and what is usual, an id, a text or a code is no outlier',
  async (t) => {
    const asked = (question: string, answer: number | string, type = 'number') => ({
      type,
      question,
      answer: String(answer),
    })
    const many = Array.from({ length: 200 }, (_, n) => ({
      answers: [
        asked('Income?', n % 4 === 0 ? 0 : ([500, 800, 1200, 5000, 20_000][n % 5] as number)),
        asked('Rooms?', n % 10 === 0 ? 60 : 1 + (n % 4)),
        asked('Household?', 1000 + n),
        asked('Telephone?', n === 0 ? 99_999 : n % 3, 'text'),
        asked('Age?', n < 3 ? -99 : 20 + (n % 9)),
        asked('Change?', n % 2 === 0 ? -99 : n % 9),
        asked('Name?', `${n % 7} ${n % 11} ${n % 13}`),
      ],
    }))
    const odd = [
      { answers: [asked('Income?', 9_000_000), asked('Household?', 5), asked('Age?', 999), asked('Age?', 88)] },
      { answers: [asked('Income?', 3)] },
    ]
    const { flags } = await checked(t, [...many, ...odd] as never, 0)
    const found = await flags('&checks=number')
    const code = { check: 'number', question: 'Age?', reason: 'code', value: -99, expected: [10, 38], n: 199 }
    t.match(found, {
      ...{ 0: [code], 1: [code], 2: [code] },
      200: [
        { question: 'Income?', value: 9_000_000, expected: [Number, Number], n: 152, reason: undefined },
        { question: 'Age?', value: 999, reason: 'code' },
        { question: 'Age?', value: 88, reason: 'code' },
      ],
    })
    t.same(Object.keys(found), ['0', '1', '2', '200', '201'])
    t.match(found[201], [{ question: 'Income?', value: 3 }])
    t.ok((found[200]?.[0]?.expected[0] ?? -1) > 3, 'a bound of positive numbers is positive')
  },
)

t.test('A way through the form that many take is not incomplete', async (t) => {
  const closed = (question: string) => ({ type: 'singleChoice', question, answer: 'a' })
  const short = (n: number) => ({ answers: [closed('Source?'), { ...closed('Owner?'), answer: `${n}` }] }) as Changes
  const { flags } = await checked(t, [
    ...Array.from({ length: 20 }, (_, n) => short(n)),
    { answers: [closed('Depth?')] } as Changes,
  ])
  t.same(checksOf(await flags('&checks=incomplete')), { [FEW + 20]: ['incomplete'] })
})

t.test(
  'Entries with the same answers to questions that are unique are repeated, and only some numbers may be looked at',
  async (t) => {
    const asked = (house: unknown, line: unknown, age = '30') =>
      ({
        answers: [
          { type: 'text', question: 'House?', answer: house },
          { type: 'text', question: 'Line?', answer: line },
          { type: 'number', question: 'Age?', answer: age },
          { type: 'number', question: 'Rooms?', answer: age },
        ],
      }) as Changes
    const many = Array.from({ length: 40 }, (_, n) => asked(`h${n}`, '1', String(n % 7)))
    const more = [asked('h1', '1'), asked('h1', '2'), asked(['h2'], '1', '900'), asked('', '1')]
    const { flags, agents, get } = await checked(t, [...many, ...more], 0)
    const [house, line, age] = ['House?', 'Line?', 'Age?'].map((question) => questionKey(question))
    const found = await flags(`&checks=repeated&unique=${house},${line}`)
    t.match(found, {
      1: [{ check: 'repeated', value: 'usual-040', expected: [null, null], n: 2 }],
      2: [{ value: 'usual-042' }],
      40: [{ value: 'usual-001' }],
      42: [{ value: 'usual-002' }],
    })
    t.equal(Object.keys(found).length, 4)
    t.equal((await flags(`&checks=repeated&unique=${house}`))[41]?.[0]?.n, 3)
    const [agent] = await agents(`&unique=${house}`)
    t.match((agent as Record<string, unknown>).repeated, { count: 5, of: 43 })
    t.notOk('repeated' in ((await agents())[0] ?? {}), 'without unique nobody is asked')
    const numbers = await flags(`&checks=number&questions=${age}`)
    t.match(numbers, { 42: [{ question: 'Age?' }] })
    t.equal(numbers[42]?.length, 1)
    for (const name of ['unique', 'questions'])
      t.match((await get(`/v1/checks/entries?${name}=${house}`, A)).json(), {
        detail: /has the key of a question, so it must be given with form/,
      })
  },
)

t.test('A place is missing, 0, 0, exchanged, far or not on earth', async (t) => {
  const at = (longitude: unknown, lattitude: unknown, state = 'Kano') => ({
    location: { country: 'Nigeria', state, coordinates: { longitude, lattitude } },
  })
  const { flags } = await checked(
    t,
    [
      ...[{ location: undefined }, { location: { state: 'Kano' } }, at('8.5', 12), at(0, 0)],
      ...[at(12.03, 8.53), at(9.5, 12.9), at(900, 12), at(9.5, 12.9, 'Oyo'), at(0, 12)],
    ],
    200,
  )
  const found = await flags()
  const missing = ['place,missing']
  t.same(checksOf(found), {
    ...{ 200: missing, 201: missing, 202: missing, 203: ['place,zero'], 204: ['place,exchanged'] },
    ...{ 205: ['place,far'], 206: ['place,far'], 208: ['place,far'] },
  })
  t.ok(Number(found[205]?.[0]?.value) > 100, 'in kilometres')
  t.equal(found[206]?.[0]?.value, null)
  t.match(found[205]?.[0]?.expected, [null, Number])
})

t.test('Where many entries have no place, none is missing', async (t) => {
  const { flags } = await checked(
    t,
    Array.from({ length: 10 }, () => ({ location: undefined })),
  )
  t.same(await flags(), {})
})

t.test('Entries of an agent at one point are repeated, unless all agents do so', async (t) => {
  const sits = { country: 'Nigeria', state: 'Kano', coordinates: { longitude: 8.53, lattitude: 12.03 } }
  const stay = Array.from({ length: 6 }, () => ({ agent: 'sits', location: sits }))
  const others = Array.from({ length: 9 }, (_, n) => ({ agent: `other-${n % 3}` }))
  const { flags } = await checked(t, [...stay, ...others], 3)
  const found = await flags('&checks=place&minEntries=5')
  t.same(Object.keys(found).length, 6)
  t.match(found[3], [{ reason: 'repeated', value: 6, expected: [null, 3], n: 5 }])
  const all = await checked(t, [...stay, ...stay.map((each) => ({ ...each, agent: 'too' }))], 0)
  t.same(await all.flags(), {})
})

t.test('An agent whose answers are alike is named, with the form', async (t) => {
  // Of twenty entries of an agent, one in so many has the same answers.
  const oneIn = [1, 3, 4, 5, 6, 7]
  const made = Array.from({ length: 120 }, (_, n) => {
    const choice = String(Math.floor(n / 6) % Number(oneIn[n % 6]))
    const answers = usual(n).answers.map((each) => (each.type === 'number' ? each : { ...each, answer: choice }))
    return { agent: `agent-${n % 6}`, answers }
  })
  const { agents } = await checked(t, [...made, { agent: undefined as never }], 0)
  const all = await agents('&checks=sameness')
  const named = all.filter(({ sameness = [] }) => sameness.length > 0)
  t.same(
    named.map(({ agent }) => agent),
    ['agent-0'],
  )
  t.match(named[0]?.sameness, [{ form: a.form._id, value: 1, expected: [null, Number], n: 6 }])
  // The shares are 1, 0.35, 0.25, 0.2, 0.2 and 0.15. Far is five deviations above their median.
  t.ok(Math.abs(Number(named[0]?.sameness?.[0]?.expected[1]) - (0.225 + 5 * 1.4826 * 0.05)) < 1e-9)
  t.notOk('short' in (all[0] as object), 'only what was asked for')
  t.equal(all.find(({ agent }) => agent === null)?.entries, 1)
})

t.test('An agent has days, durations beside those of its forms, and shares of what could be flagged', async (t) => {
  const { agents } = await checked(t, [
    { agent: 'quick', duration: 20, createdAt: new Date('1969-12-31T23:30:00Z') },
    { agent: 'quick', duration: 21, createdAt: new Date('1970-01-01T00:30:00Z') },
    { agent: 'quick', duration: Number.NaN, createdAt: new Date('1970-01-01T12:00:00Z') },
  ])
  const [quick, usual] = await agents()
  t.match(quick, { agent: 'quick', entries: 3, days: 2, entriesPerDay: 1.5, durations: 2 })
  t.ok(Number(quick?.durationRatio) > 0.1 && Number(quick?.durationRatio) < 0.2)
  t.match(quick?.flagged, { count: 2, of: 3 })
  t.match(quick, { short: { count: 2, of: 2, share: 1, high: 1 } })
  t.match(usual, { agent: 'agent1-a', flagged: { count: 0, low: 0 } })
  const [inLagos] = await agents('&zone=Africa/Lagos')
  t.equal(inLagos?.days, 1, 'an hour before UTC the first is on the next day')
})

t.test('Entries that do not fit are checked as far as they can be read', async (t) => {
  const { answers } = usual(3)
  const unfit = { form: 'unfit', agent: 'unfit', duration: null, createdAt: null }
  const { read } = await checked(t, [
    { ...unfit, answers: 'none', location: 'here' } as never,
    { ...unfit, answers: [{ answer: 'a' }, 'b', { question: 1, type: 2, answer: { c: 1 } }], location: null } as never,
    { ...unfit, form: 7, location: { coordinates: [8, 12] } } as never,
    { ...unfit, answers },
    { ...unfit, answers, createdAt: new Date(0) },
    { ...unfit, answers },
    { ...unfit, answers },
  ] as never)
  const { data } = await read<CheckedEntry>('entries?idFrom=usual&idTo=usuam&checks=copy')
  t.match(data, [{ id: 'usual-043', createdAt: null, flags: [{ value: 'usual-044' }] }, { id: 'usual-045' }, {}])
  const agents = (await read<CheckedAgent>('agents?idFrom=usual&idTo=usuam')).data
  const days = { entries: 7, days: 1, entriesPerDay: 7, durations: 0, durationRatio: null }
  t.match(
    agents.find(({ agent }) => agent === 'unfit'),
    days,
  )
  const alone = await checked(t, [{ ...unfit, agent: 'alone' } as never])
  const own = (await alone.read<CheckedAgent>('agents?agent=alone&idFrom=usual&idTo=usuam')).data
  t.match(own, [{ days: 0, entriesPerDay: null }])
})

t.test('Where all numbers, places or agents are alike, none is far from the others', async (t) => {
  const place = { country: 'Nigeria', state: 'Kano', coordinates: { longitude: 8.5, lattitude: 12 } }
  const same = Array.from({ length: 60 }, (_, n) => ({
    agent: `agent-${n % 6}`,
    location: place,
    answers: [
      { type: 'number', question: 'How many?', answer: '4' },
      { type: 'singleChoice', question: 'Which?', answer: 'a' },
    ],
  }))
  const other = { answers: [{ type: 'number', question: 'How many?', answer: '400' }], agent: 'agent-1' }
  const { flags, agents } = await checked(t, [...same, other] as never, 0)
  t.same(await flags('&checks=number'), {})
  t.same(
    (await agents()).flatMap(({ sameness }) => sameness),
    [],
  )
  const far = { ...place, coordinates: { longitude: 9, lattitude: 12 } }
  const away = await checked(t, [...same, { ...other, location: far }] as never, 0)
  t.same(await away.flags('&checks=place'), {})
})

t.test('An entry may have more different answers than are remembered', { skip: leftToGate }, async (t) => {
  const many = Array.from({ length: 20_010 }, (_, n) => ({ type: 'number', question: 'How many?', answer: String(n) }))
  const { flags } = await checked(t, [{ answers: many }])
  const found = await flags('&checks=number')
  t.same(found, {}, 'most numbers are its own')
})

t.test('An entry shows its first hundred flags, and hides neither those behind them nor other entries', async (t) => {
  const questions = Array.from({ length: 150 }, (_, n) => `Number ${n}?`)
  const numbers = (answer: (n: number) => string) =>
    questions.map((question, n) => ({ type: 'number', question, answer: answer(n) }))
  const usual = Array.from({ length: 20 }, (_, row) => ({
    answers: numbers((n) => String((row % (n % 2 === 0 ? 17 : 13)) + n)),
  }))
  const place = { location: { coordinates: { longitude: 0, lattitude: 0 } } }
  const { read } = await checked(t, [...usual, { ...place, answers: numbers(() => '9999') }, { duration: 0 }])
  const { data } = await read<CheckedEntry>(`entries?form=${a.form._id}&idFrom=usual&idTo=usuam`)
  t.same(
    data.map(({ id, flags, flagCount }) => [id, flags.length, flags.at(-1)?.check, flagCount]),
    [
      ['usual-060', 100, 'place', 151],
      ['usual-061', 1, 'short', 1],
    ],
  )
})

t.test('A duration of 0 or less and a place nowhere on earth are flagged without bounds', async (t) => {
  const at = (longitude: number, lattitude: number) => ({
    location: { country: 'Nigeria', state: 'Kano', coordinates: { longitude, lattitude } },
  })
  const few = [at(14.6, 121), at(-999, -999), { duration: 0 }, { duration: -5 }, { duration: 1 }]
  const { flags, agents } = await checked(t, few, 3)
  const found = await flags()
  const none = { expected: [null, null], n: 8 }
  const [far, short] = [
    { check: 'place', reason: 'far', value: null, ...none },
    { check: 'short', ...none },
  ]
  t.same(found, { 3: [far], 4: [far], 5: [{ ...short, value: 0 }], 6: [{ ...short, value: -5 }] })
  t.match(await agents(), [{ short: { count: 2, of: 8 }, long: { count: 0, of: 0 }, place: { count: 2, of: 8 } }])
})

t.test('A date that no response can show is none, and entries whose ids are no texts are left out', async (t) => {
  const times = [8.64e15, Date.UTC(10_000), Date.UTC(-1), Date.UTC(9999, 11, 31)].map((time) => new Date(time))
  const untold = Array.from({ length: 120 }, (_, n) => ({ _id: n as never }))
  const { read } = await checked(
    t,
    [...times.map((createdAt) => ({ createdAt, duration: 0, agent: 'late' })), ...untold] as never,
    30,
  )
  const { data, _metadata } = await read<CheckedEntry>(`entries?form=${a.form._id}&minEntries=1000`)
  t.same(
    data.map(({ id, createdAt }) => [id, createdAt]),
    [['usual-033', '9999-12-31T00:00:00.000Z'], ...['usual-030', 'usual-031', 'usual-032'].map((id) => [id, null])],
  )
  const all = (await read<CheckedAgent>(`agents?form=${a.form._id}`)).data
  const late = all.find(({ agent }) => agent === 'late')
  t.match([late, _metadata.entries], [{ entries: 4, days: 1 }, 37])
  const entries = new Entries(1)
  const createdAt = stored.date(2n ** 62n)
  entries.add(documentOf(Object.entries({ _id: 'a', createdAt })).bytes)
  t.same([...entries.created], [Number.NaN], 'a date that JavaScript does not have')
})

t.test('Too many flags are refused', async (t) => {
  const findings = new Findings(new Entries(2001), ['short'], 20)
  const flag = (times: number) => {
    for (let n = 0; n < times; n++) findings.flag('short', times === 1 ? 2000 : n % 2000, 1, [null, null], 1)
  }
  flag(200_000)
  t.throws(() => flag(1), { message: /they have more than 200000 flags; a narrower filter/ })
})
