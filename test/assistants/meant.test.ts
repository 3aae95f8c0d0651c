// What an assistant means: other spellings, texts of questions, days of a zone, and records of one name.
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { isLike, nearestTo } from '../../src/assistants/spelling.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { QueryTimeout } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { assistant, errorOf } from '../support/mcp.js'
import { A, a, fillTenants } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'

const keyOf = (question: string) => createHash('sha256').update(question).digest('hex').slice(0, 12)

const prepare = async (t: Test, entries: readonly object[]) => {
  const { app, store, keyOf } = await testApp(t, { fill: fillTenants })
  await store.insert('entries', entries.map((entry, n) => ({ ...a.entry(1), _id: `more${n}`, ...entry })) as never)
  return { app, store, ...(await assistant(t, app, await keyOf(A))) }
}

t.test('cases, spaces and accents make no other name, but marks of other scripts do', async (t) => {
  const same = [
    ['São Paulo', 'SAO  PAULO'],
    ['Ọkáfọ̀', 'okafo'],
    ['Hồ Chí Minh', 'ho chi minh'],
    ['Αθήνα Οδός', 'ΑΘΗΝΑ ΟΔΟΣ'],
    ['Пётр Йошкар', 'ПЕТР ИОШКАР'],
    ['Straße', 'STRASSE'],
    ['한국', '한국'.normalize('NFD')],
    ['می\u200cخواهید', 'میخواهید'],
    ['ශ්\u200dරී', 'ශ්රී'],
  ]
  const others = [
    ['परासी', 'पर्सा'],
    ['বল', 'বলি'],
    ['มา', 'ม้า'],
    ['はは', 'ばば'],
    ['ハハ', 'パパ'],
    // A vowel that is written tells words apart.
    ['عَلَم', 'عِلم'],
    ['한', '하'],
  ]
  const wrong = [
    ...same.filter(([one = '', other = '']) => !isLike(one)(other)),
    ...others.filter(([one = '', other = '']) => isLike(one)(other)),
  ]
  t.same(wrong, [])
  t.same(nearestTo('하', ['한', '나', '하나']), ['하나', '한', '나'], 'a syllable is no part of another one')
})

t.test('a value that was taken for another spelling is said', { skip: leftToGate }, async (t) => {
  const place = (state: string) => ({ location: { state } })
  const { ask, call } = await prepare(t, [place('पर्सा'), place('Kàduna'), place('Lagos')])
  const [form, key] = [a.form._id, keyOf('Source?')]
  t.match(errorOf(await call('find_entries', { state: 'परासी' })), { errors: [{ name: 'state' }] })
  const asked = { form: 'WATER A', state: 'kaduna', answered: [`${key}=BOREHOLE`] }
  const notes = [
    'form "WATER A" was taken for "Water a"',
    'state "kaduna" was taken for "Kàduna"',
    'answered "BOREHOLE" was taken for "Borehole"',
  ]
  for (const [tool, more] of [
    ['find_entries', {}],
    ['count_entries', { by: 'status' }],
    ['export_link', { format: 'csv' }],
  ] as const)
    t.same((await ask<{ notes: string[] }>(tool, { ...asked, ...more })).notes.sort(), notes.toSorted(), tool)
  const right = await ask<object>('find_entries', { form, state: 'Kàduna', answered: [`${key}=Borehole`] })
  t.notOk('notes' in right)
})

t.test(
  'of several like spellings, one in another case is meant, and otherwise all of them are said',
  { skip: leftToGate },
  async (t) => {
    const place = (state: string) => ({ location: { state } })
    const { ask, call } = await prepare(t, [place('Йошкар'), place('Иошкар'), place('Tại'), place('Tai')])
    const { notes } = await ask<{ notes: string[] }>('count_entries', { by: 'status', state: 'йошкар' })
    t.same(notes, ['state "йошкар" was taken for "Йошкар"'])
    t.match(errorOf(await call('find_entries', { state: 'tái' })), {
      errors: [{ name: 'state', message: 'has a value that several values are like: allowed has them' }],
    })
  },
)

/** Entries of a form with many questions, whose answers differ. */
const survey = (questions: readonly string[], entries: number, answer = (n: number, i: number) => `${n} and ${i}`) =>
  Array.from({ length: entries }, (_, n) => ({
    form: 'form1',
    answers: questions.map((question, i) => ({ type: 'text', question, answer: answer(n, i) })),
  }))
const PARTS = Array.from(
  { length: 80 },
  (_, i) => `Please describe, in a few words, the situation of the household, part ${i}`,
)

interface Described {
  readonly total: number
  readonly questions: readonly { key: string; question: string; choices: unknown[] }[]
  readonly truncated?: string
}

t.test('all questions of a long form are shown, and one is found by words of its text', async (t) => {
  const { ask, call, store } = await prepare(
    t,
    survey([...PARTS, 'Où est l’école?', '世帯主の年齢'], 60, (n, i) => `${n} ${i} ${'goat '.repeat(10)}`),
  )
  await store.insert('forms', [{ ...a.form, _id: 'form1', name: 'Household' }])
  const form = 'Household'
  const all = await ask<Described>('describe_form', { form })
  t.match(all, {
    total: 82,
    questions: { length: 82 },
    truncated: /^choices has the first \d of 50\. .* a question and a smaller limit/,
  })
  const found: unknown[] = []
  for (const question of [
    PARTS[63],
    'PART 63',
    'part 6',
    keyOf(String(PARTS[63])),
    'situation part',
    'ou  ecole',
    'l ecole est ou',
    '年齢',
  ]) {
    const { total, questions } = await ask<Described>('describe_form', { form, question })
    found.push([total, questions.length, questions[0]?.question])
  }
  t.same(found, [
    [1, 1, PARTS[63]],
    [1, 1, PARTS[63]],
    [1, 1, PARTS[6]],
    [1, 1, PARTS[63]],
    [80, 80, PARTS[0]],
    [1, 1, 'Où est l’école?'],
    [1, 1, 'Où est l’école?'],
    [1, 1, '世帯主の年齢'],
  ])
  for (const question of ['camels', 'household camels', 'house', '?'])
    t.match(errorOf(await call('describe_form', { form, question })), {
      error: `question has "${question}", but no question of the form has these words: allowed has questions`,
      errors: [{ allowed: { length: 82 } }],
    })
})

t.test('with a form, the text of a question stands for its key in every argument', async (t) => {
  const long = `Why ${'so '.repeat(100)}?`
  const questions = ['Uses, if any?', 'Uses of=the well?', 'Water uses', 'a=b', 'Numbers', long, '3']
  const { ask, call } = await prepare(
    t,
    survey(questions, 3, (n, i) => (i === 4 ? String(n + 1) : `answer ${n}`)),
  )
  const form = 'form1'
  const [commas, sign, twoWords, equal, numbers] = questions.map(keyOf) as [string, string, string, string, string]
  const said = (name: string, given: string, question: string) =>
    `${name} ${JSON.stringify(given)} was taken for ${JSON.stringify(question)}, whose key is ${keyOf(question)}`
  const results: [string, object, object, string[]][] = [
    ['count_entries', { by: 'Uses, if any?' }, { by: commas }, [said('by', 'Uses, if any?', 'Uses, if any?')]],
    ['count_entries', { by: ['WATER', 'status'] }, { by: [twoWords, 'status'] }, [said('by', 'WATER', 'Water uses')]],
    ['count_entries', { measure: 'númbers' }, { measure: numbers }, [said('measure', 'númbers', 'Numbers')]],
    ['count_entries', { by: 'status,createdAt:day' }, { by: ['status', 'createdAt:day'] }, []],
    ['find_entries', { answered: 'a=b' }, { answered: equal }, [said('answered', 'a=b', 'a=b')]],
    [
      'find_entries',
      { answered: ['a=b=answer 1'] },
      { answered: `${equal}=answer 1` },
      [said('answered', 'a=b', 'a=b')],
    ],
    [
      'export_link',
      { answered: ['Uses of=the well?=ANSWER 1', 'if any=answer 1', numbers], format: 'csv' },
      { answered: [`${sign}=answer 1`, `${commas}=answer 1`, numbers], format: 'csv' },
      [
        said('answered', 'Uses of=the well?', 'Uses of=the well?'),
        'answered "ANSWER 1" was taken for "answer 1"',
        said('answered', 'if any', 'Uses, if any?'),
      ],
    ],
  ]
  const wrong: unknown[] = []
  for (const [tool, byText, byKey, notes] of results) {
    const {
      notes: said = [],
      asOf: _,
      ...found
    } = await ask<{ notes?: string[]; asOf?: string }>(tool, { form, ...byText })
    const { asOf: __, ...expected } = await ask<{ asOf?: string }>(tool, { form, ...byKey })
    if (JSON.stringify([found, said]) !== JSON.stringify([expected, notes])) wrong.push([byText, found, said])
  }
  t.same(wrong, [])
  const errors = []
  for (const given of [
    { by: 'uses' },
    { by: ['camels'] },
    { by: ['a=b', equal] },
    { by: ['WATER', twoWords] },
    { measure: 'camels' },
    { answered: 'camels=x' },
    { by: 'status,' },
  ])
    errors.push(
      errorOf(
        await call('find_entries' in given ? '' : 'answered' in given ? 'find_entries' : 'count_entries', {
          form,
          ...given,
        }),
      ),
    )
  t.match(errors, [
    {
      error: `by has "uses", which 3 questions have, and allowed has their keys: ${[0, 1, 2].map((i) => `${keyOf(String(questions[i]))} "${questions[i]}"`).join('; ')}`,
      errors: [{ allowed: [commas, sign, twoWords] }],
    },
    { errors: [{ name: 'by', allowed: [...questions.slice(0, 5), keyOf(long), '3'] }] },
    { error: 'by must not have the same value twice' },
    { error: 'by must not have the same value twice' },
    { errors: [{ name: 'measure' }] },
    { errors: [{ name: 'answered' }] },
    { errors: [{ name: 'by' }] },
  ])
  t.match(errorOf(await call('count_entries', { by: 'Uses, if any?' })), {
    error: /^by has "Uses", but must be one or two of .*, and with form the key of a question$/,
  })
})

t.test('what questions say is bounded, however many and long they are', async (t) => {
  const many = Array.from({ length: 1990 }, (_, i) => `Q ${i} ${'x'.repeat(1500)}`)
  const { call, store } = await prepare(t, survey([...many, `Y ${'y '.repeat(250_000)}`], 1))
  await store.insert('forms', [{ ...a.form, _id: 'form1', name: 'Long' }])
  const words = 'x '.repeat(3900)
  const sizes: unknown[] = []
  for (const [tool, given] of [
    ['describe_form', { question: 'q' }],
    ['describe_form', { question: words }],
    ['describe_form', { question: `y ${'='.repeat(7000)}` }],
    ['count_entries', { by: 'q' }],
    ['count_entries', { by: 'y' }],
    ['count_entries', { by: `${words} z` }],
    ['find_entries', { answered: [`${'='.repeat(7000)}`, 'q'] }],
  ] as const) {
    const { content } = await call(tool, { form: 'form1', ...given })
    const { length } = (content as unknown as [{ text: string }])[0].text
    if (length > 64 * 1024 || length < 100) sizes.push([tool, Object.keys(given), length])
  }
  t.same(sizes, [])
})

t.test(
  'a day is one of the zone in every tool that takes days, and the zone comes back as it was given',
  { skip: leftToGate },
  async (t) => {
    const hourly = Array.from({ length: 48 }, (_, n) => ({ createdAt: new Date(Date.UTC(2025, 2, 28, n)) }))
    const { ask } = await prepare(t, hourly)
    const days = { createdSince: '2025-03-29', createdBefore: '2025-03-30' }
    const zone = 'africa/lagos'
    const times = { createdSince: '2025-03-28T23:00:00Z', createdBefore: '2025-03-29T23:00:00Z' }
    const wrong: unknown[] = []
    for (const [tool, more] of [
      ['find_entries', {}],
      ['export_link', { format: 'csv' }],
      ['check_entries', {}],
      ['count_entries', { by: 'createdAt:day' }],
    ] as const) {
      const asked = await ask<{ asOf?: string; zone?: string }>(tool, { ...days, zone, ...more })
      const expected = await ask<{ asOf?: string }>(tool, { ...times, zone, ...more })
      const echoed = ['check_entries', 'count_entries'].includes(tool) ? zone : undefined
      const isSame = JSON.stringify({ ...asked, asOf: '' }) === JSON.stringify({ ...expected, asOf: '' })
      if (!isSame || asked.zone !== echoed) wrong.push([tool, asked, expected])
    }
    for (const zone of ['Etc/GMT-1', 'utc', 'Asia/Calcutta'])
      for (const tool of ['check_entries', 'count_entries'])
        if ((await ask<{ zone: string }>(tool, { zone })).zone !== zone) wrong.push([tool, zone])
    t.same(wrong, [])
    t.match(await ask('count_entries'), { zone: 'UTC' })
    const { agents } = await ask<{ agents: { days: number }[] }>('check_entries', {
      zone: 'Pacific/Kiritimati',
      createdSince: times.createdSince,
      createdBefore: '2025-03-29T13:00:00Z',
    })
    t.equal(agents[0]?.days, 2, 'the days of an agent are those of the zone')
  },
)

t.test('records of one name are told apart by what people know, and an id that is a name is said', async (t) => {
  const createdAt = new Date('2031-01-02T03:04:05.678Z')
  const { ask, call, store, app } = await prepare(t, [
    { form: 'twin1', project: a.project(1)._id, createdAt },
    { form: 'twin1', project: undefined },
    { form: 'twin2', project: undefined, createdAt },
    { form: 'Twin', agent: 'Ade Ola' },
  ])
  const twins = ['twin1', 'twin2', 'twin3'].map((_id) => ({ ...a.form, _id, name: 'Twin' }))
  await store.insert('forms', [...twins, { ...a.form, _id: 'twin', name: 'other' }])
  await store.insert('agents', [{ ...a.agent(1), _id: 'ade', firstName: 'Ade', lastName: 'Ola' }])
  t.match(errorOf(await call('find_entries', { form: 'TWIN' })), {
    error:
      'form is the name of several forms, and allowed has their ids: twin3 (entries: 0); twin2 (entries: 1, newest: 2031-01-02T03:04:05.678Z); twin1 (entries: 2, newest: 2031-01-02T03:04:05.678Z, its project: "Project 1")',
    errors: [{ name: 'form', allowed: ['twin3', 'twin2', 'twin1'] }],
  })
  const [ofForm, ofAgent, plain] = [
    await ask('count_entries', { form: 'Twin' }),
    await ask('count_entries', { agent: 'Ade Ola' }),
    await ask('count_entries', { form: 'twin1' }),
  ]
  t.match(
    [ofForm, ofAgent, plain],
    [
      {
        total: 1,
        notes: ['form "Twin" was taken for an id, but it is also the name of "twin3", "twin2", "twin1"'],
      },
      { total: 1, notes: ['agent "Ade Ola" was taken for an id, but it is also the name of "ade"'] },
      { total: 2, notes: undefined },
    ],
  )
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Blind', without: ['personal'] })
  const blind = await assistant(t, app, key)
  t.match(await blind.ask('count_entries', { agent: 'Ade Ola' }), { total: 1, notes: undefined })
  t.match(errorOf(await blind.call('describe_form', { form: 'twin3', question: 'any' })), {
    errors: [{ name: 'question', allowed: [] }],
  })
  // Where the entries cannot be counted in time, the ids are told alone.
  const slow = await testApp(t, { store: { ...store, count: async () => Promise.reject(new QueryTimeout(undefined)) } })
  const late = await assistant(t, slow.app, await slow.keyOf(A))
  t.match(errorOf(await late.call('check_entries', { form: 'TWIN' })), {
    error: 'form is the name of several forms, and allowed has their ids: twin3; twin2; twin1',
  })
  t.match(await late.ask('count_entries', { form: 'twin1' }), { total: 2 })
})
