// examples/from_odk.py makes the same records of a form and its data in every layout in which ODK Central and KoboToolbox
// export them. They are loaded into the service, and every answer of its list is compared with what was submitted. Then
// docs/from-a-form.md is run. openpyxl is in the folder of TEST_TOOLS, or in python3.
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { loadCommand } from '../src/commands/load.js'
import { testApp } from '../test/support/app.js'
import { tryCommand } from '../test/support/command.js'
import { testStore } from '../test/support/store.js'
import { blocksOf, firstMissing } from './support/pages.js'
import { Reader } from './support/reader.js'

const folder = process.env.TEST_TOOLS
const PYTHON = folder === undefined ? 'python3' : join(resolve(folder), 'files', 'bin', 'python')
const PROGRAM = resolve('examples/from_odk.py')

const hasPackage = (): boolean => {
  try {
    execFileSync(PYTHON, ['-c', 'import sys, openpyxl; assert sys.version_info >= (3, 11)'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
const skip = !hasPackage() && `${PYTHON} is not Python 3.11 with openpyxl`
const withoutServer = process.env.TEST_MONGODB_URI === undefined && 'TEST_MONGODB_URI is not set'

// --- the form, and what was submitted

type Sheets = Record<string, readonly (readonly (string | number | null)[])[]>
const [EN, FR] = ['label::English (en)', 'label::Français (fr)'] as const

const SURVEY = [
  ['type', 'name', EN, FR],
  ['start', 'start', null, null],
  ['end', 'end', null, null],
  ['deviceid', 'deviceid', null, null],
  ['select_one enumerators', 'enumerator', 'Who asks?', 'Qui demande ?'],
  ['note', 'greeting', 'Greet the household', 'Saluez le ménage'],
  ['begin_group', 'water', 'Water', 'Eau'],
  ['select_one sources', 'source', 'Where does the water come from?', 'D’où vient l’eau ?'],
  ['text', 'source_other', 'If other, please specify', 'Si autre, précisez'],
  ['select_multiple uses', 'uses', 'What is it used for?', 'À quoi sert-elle ?'],
  ['text', 'uses_other', 'If other, please specify', 'Si autre, précisez'],
  ['integer', 'people', 'How many people use it?', 'Combien de personnes ?'],
  ['end_group', null, null, null],
  ['date', 'since', 'Since when?', 'Depuis quand ?'],
  // Side by side, with one label.
  ['integer', 'dug', 'Year', 'Année'],
  ['integer', 'mended', 'Year', 'Année'],
  ['geopoint', 'place', 'Where is the well?', 'Où est le puits ?'],
  ['image', 'photo', 'A photo of the well', 'Une photo du puits'],
  ['select_one scale', 'taste', 'How good is it, from 1 to 3?', 'Est-elle bonne, de 1 à 3 ?'],
  ['calculate', 'score', null, null],
  ['begin_repeat', 'member', 'Members', 'Membres'],
  ['text', 'name', 'Name', 'Nom'],
  ['integer', 'age', 'Age', 'Âge'],
  ['end_repeat', null, null, null],
]
const CHOICES = [
  ['list_name', 'name', EN, FR],
  ['enumerators', 7, 'Seventh team', 'Équipe 7'],
  ['enumerators', 8, 'Eighth team', 'Équipe 8'],
  ['sources', 'well', 'Well', 'Puits'],
  ['sources', 'other', 'Other', 'Autre'],
  ['uses', 'drinking', 'Drinking', 'Boire'],
  ['uses', 'washing', 'Washing / cleaning', 'Laver'],
  ['uses', 'other', 'Other use', 'Autre usage'],
  // Each label but one is the name of another choice.
  ['scale', 1, '3', '3'],
  ['scale', 2, '2', '2'],
  ['scale', 3, '1', '1'],
]
const FORM: Sheets = {
  survey: SURVEY,
  choices: CHOICES,
  settings: [
    ['form_title', 'form_id', 'default_language'],
    ['Wells', 'wells', 'English (en)'],
  ],
}

interface Submission {
  readonly uuid: string
  readonly answers: Readonly<Record<string, string>>
  readonly members: readonly Readonly<Record<string, string>>[]
}
const usual = { start: '2025-03-14T10:00:00.000+01:00', end: '2025-03-14T10:30:00.000+01:00', deviceid: 'd' }
const SUBMITTED: readonly Submission[] = [
  {
    uuid: '3f0c1f0a-0000-4000-8000-000000000001',
    answers: {
      ...usual,
      enumerator: '7',
      source: 'other',
      source_other: 'Neighbour; "the tall one",\nbehind the school',
      uses: 'washing other',
      uses_other: 'Bricks',
      people: '12',
      since: '2019-05-01',
      dug: '2001',
      mended: '2015',
      place: '12.01 8.51 480.5 4.2',
      photo: 'well 1.jpg',
      taste: '1',
      score: '3.50',
    },
    members: [
      { name: 'Ama', age: '34' },
      { name: 'Kofi', age: '-99' },
    ],
  },
  {
    uuid: '3f0c1f0a-0000-4000-8000-000000000002',
    answers: { ...usual, enumerator: '8', source: 'well', uses: 'drinking', people: '-99', mended: '2020', taste: '3' },
    members: [],
  },
  { uuid: '3f0c1f0a-0000-4000-8000-000000000003', answers: usual, members: [{ name: 'Esi', age: '0' }] },
]

// --- the layouts

interface Layout {
  readonly groups?: '/' | '-' | ''
  readonly several?: 'one column' | 'a column for each' | 'both'
  /** The language of names of columns, and of values. Without one, they are names. */
  readonly header?: 1 | 2
  readonly values?: 1 | 2
}

const paths: Record<string, string[]> = {}
for (const [kind, name] of SURVEY.slice(1)) if (!String(kind).includes('_group')) paths[String(name)] = [String(name)]
for (const name of ['source', 'source_other', 'uses', 'uses_other', 'people']) paths[name] = ['water', name]

const rowOf = (name: string) => SURVEY.slice(1).find(([, each]) => each === name) as (string | null)[]
const choicesOf = (name: string) => CHOICES.filter(([list]) => list === String(rowOf(name)[0]).split(' ')[1])
const calledIn = (row: readonly (string | number | null)[], language?: 1 | 2): string =>
  String(language === undefined ? row[1] : (row[1 + language] ?? row[1]))

/** What a column of a question is called. */
const headOf = (name: string, { groups = '/', header }: Layout): string =>
  (groups === '' || header !== undefined ? [name] : (paths[name] as string[]))
    .map((part) => calledIn(rowOf(part), header))
    .join(groups)

/** The columns of a question with the cells of each submission. */
const columnsFor = (name: string, layout: Layout, isCentral: boolean) => {
  const kind = String(rowOf(name)[0])
  const head = headOf(name, layout)
  const worded = (value: string) => {
    // Where columns are called by names, a text that is the name of a choice stands for that, whatever else it may be.
    if (layout.header === undefined && name === 'taste') return value
    const choice = choicesOf(name).find((row) => String(row[1]) === value)
    return choice === undefined ? value : calledIn(choice, layout.values)
  }
  const plain = (answers: Submission['answers']) => answers[name] ?? ''
  if (kind === 'geopoint') {
    const parts = isCentral
      ? ['Latitude', 'Longitude', 'Altitude', 'Accuracy'].map((part) => `${head}-${part}`)
      : ['latitude', 'longitude', 'altitude', 'precision'].map((part) => `_${head}_${part}`)
    const numbers = parts.map((part, at) => [
      part,
      (answers: Submission['answers']) => plain(answers).split(' ')[at] ?? '',
    ])
    return (isCentral ? numbers : [[head, plain], ...numbers]) as [string, typeof plain][]
  }
  if (!kind.startsWith('select')) return [[head, plain]] as [string, typeof plain][]
  const whole = (answers: Submission['answers']) => plain(answers).split(' ').map(worded).join(' ')
  if (!kind.startsWith('select_multiple') || layout.several === 'one column')
    return [[head, whole]] as [string, typeof plain][]
  const each = choicesOf(name).map((row) => [
    `${head}${layout.groups === '-' && !isCentral ? '-' : '/'}${calledIn(row, layout.values)}`,
    (answers: Submission['answers']) =>
      answers[name] === undefined && !isCentral ? '' : plain(answers).split(' ').includes(String(row[1])) ? '1' : '0',
  ])
  return [...(layout.several === 'a column for each' ? [] : [[head, whole]]), ...each] as [string, typeof plain][]
}

const ASKED = SURVEY.slice(
  1,
  SURVEY.findIndex(([kind]) => kind === 'begin_repeat'),
)
  .filter(([kind]) => !/note|group/.test(String(kind)))
  .map(([, name]) => String(name))

type Table = string[][]

/** The table of submissions, and that of members. */
const tables = (layout: Layout, isCentral: boolean): [Table, Table] => {
  const columns = ASKED.flatMap((name) => columnsFor(name, layout, isCentral))
  const names = columns.map(([head]) => head)
  const cells = ({ answers }: Submission) => columns.map(([, cell]) => cell(answers))
  const memberNames = ['name', 'age'].map((name) => calledIn(rowOf(name), layout.header))
  const members = SUBMITTED.flatMap(({ uuid, members }, parent) =>
    members.map((member, at) => [
      ...[member.name as string, member.age as string],
      ...(isCentral ? [`uuid:${uuid}`, `uuid:${uuid}/member[${at + 1}]`] : ['Wells', String(parent + 1)]),
    ]),
  )
  const sent = '2025-03-14T12:00:00'
  return isCentral
    ? [
        [
          ['SubmissionDate', ...names, 'KEY', 'SubmitterID', 'ReviewState', 'Edits'],
          ...SUBMITTED.map((each) => [`${sent}.000Z`, ...cells(each), `uuid:${each.uuid}`, '5', '', '0']),
        ],
        [[...memberNames, 'PARENT_KEY', 'KEY'], ...members],
      ]
    : [
        [
          [...names, '_id', '_uuid', '_submission_time', '_validation_status', '_tags', '_index'],
          ...SUBMITTED.map((each, at) => [...cells(each), '1', each.uuid, sent, '', '', String(at + 1)]),
        ],
        [[...memberNames, '_parent_table_name', '_parent_index'], ...members],
      ]
}

const csvOf = (table: Table, separator: string): string =>
  table.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(separator)).join('\n')

const run = promisify(execFile)

const MAKE = `import json, re, sys, zipfile, openpyxl
for file, sheets in json.load(open(sys.argv[1])).items():
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(file)
    # What a sheet says of its size is wrong, as in files that R writes.
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1"', part))`

/** Writes files into a folder: texts, and sheets as XLSX. */
const put = async (cwd: string, files: Readonly<Record<string, string | Sheets>>): Promise<void> => {
  const books = Object.entries(files).filter(([, file]) => typeof file !== 'string')
  for (const [name, file] of Object.entries(files)) if (typeof file === 'string') writeFileSync(join(cwd, name), file)
  writeFileSync(join(cwd, 'books.json'), JSON.stringify(Object.fromEntries(books)))
  await run(PYTHON, ['-c', MAKE, 'books.json'], { cwd })
}

const layouts: Record<string, { argv?: string[]; files: Readonly<Record<string, string | Sheets>> }> = {}
const central = (title: string, layout: Layout) => {
  const [main, members] = tables(layout, true)
  layouts[`Central, ${title}`] = { files: { 'wells.csv': csvOf(main, ','), 'wells-member.csv': csvOf(members, ',') } }
}
central('several choices as one column', { groups: '-', several: 'one column' })
central('several choices as both', { groups: '-', several: 'both' })
central('without groups', { groups: '', several: 'both' })
const kobo = (title: string, layout: Layout) => {
  const [main, members] = tables(layout, false)
  layouts[`Kobo, ${title}`] = { files: { 'wells.xlsx': { Wells: main, member: members } } }
  layouts[`Kobo, ${title}, as CSV`] = {
    files: { 'wells.csv': `\ufeff${csvOf(main, ';')}`, 'member.csv': csvOf(members, ';') },
  }
}
kobo('names', { several: 'both' })
kobo('names with -', { groups: '-', several: 'a column for each' })
kobo('names without groups', { groups: '', several: 'one column' })
for (const several of ['one column', 'a column for each', 'both'] as const) {
  kobo(`labels, several choices as ${several}`, { several, header: 1, values: 1 })
  kobo(`labels of the other language, several choices as ${several}`, { several, header: 2, values: 2 })
}
kobo('labels as values alone', { several: 'both', values: 2 })

// --- what must come

const QUESTIONS: Record<string, string> = {
  source_other: 'If other, please specify (source_other)',
  uses_other: 'If other, please specify (uses_other)',
  dug: 'Year (dug)',
  mended: 'Year (mended)',
}
const TYPES: Record<string, string> = { integer: 'number', select_one: 'singleChoice', select_multiple: 'multiChoice' }
const isMissing = (value: string) => value === '-99'

const answersTo = (names: readonly string[], given: Readonly<Record<string, string>>) =>
  names.flatMap((name) => {
    const row = rowOf(name)
    const [kind] = String(row[0]).split(' ') as [string]
    const value = given[name]
    if (value === undefined || isMissing(value)) return []
    const worded = (one: string) => String(choicesOf(name).find((choice) => String(choice[1]) === one)?.[2] ?? one)
    const answer = kind === 'select_multiple' ? value.split(' ').map(worded) : worded(value)
    return [{ type: TYPES[kind] ?? kind, question: QUESTIONS[name] ?? row[2] ?? name, answer }]
  })

const PLACED = ['altitude', 'accuracy']
/** What the list must have, without the form, which it embeds. */
const wanted = () =>
  SUBMITTED.flatMap(({ uuid, answers, members }) => {
    const id = `savannah-wells-${uuid}`
    const dated = { createdAt: '2025-03-14T09:00:00.000Z', updatedAt: '2025-03-14T12:00:00.000Z', status: 'pending' }
    const agent = answers.enumerator && { agent: `savannah-agent-${answers.enumerator}` }
    const [lattitude, longitude, ...more] = (answers.place ?? '').split(' ')
    const placed = more.map((answer, at) => ({
      type: 'number',
      question: `Where is the well? (${PLACED[at]} in metres)`,
      answer,
    }))
    const names = ASKED.filter((name) => !['start', 'end', 'deviceid', 'enumerator', 'place'].includes(name))
    const coordinates = { longitude: Number(longitude), lattitude: Number(lattitude) }
    return [
      {
        id,
        form: 'savannah-wells',
        ...dated,
        ...agent,
        ...(answers.place && { location: { coordinates } }),
        duration: 1800,
        answers: [...placed, ...answersTo(names, answers)],
      },
      ...members.map((member, at) => ({
        id: `${id}-member-${at + 1}`,
        form: 'savannah-wells-member',
        ...dated,
        ...agent,
        answers: [{ type: 'text', question: 'Parent entry', answer: id }, ...answersTo(['name', 'age'], member)],
      })),
    ]
  })

const convert = (cwd: string, ...argv: string[]) => run(PYTHON, [PROGRAM, ...argv], { cwd })

/** Loads what the program wrote, and returns what the service then lists. */
const loaded = async (t: Test, cwd: string) => {
  const store = testStore(t)
  const now = new Date()
  await store.insert('organisations', [{ _id: 'savannah', name: 'Savannah', createdAt: now, updatedAt: now }])
  for (const name of ['forms', 'agents', 'entries']) {
    const argv = [join(cwd, `${name}.ndjson`), '--collection', name, '--organisation', 'savannah', '--strict']
    const { code, output } = await tryCommand(loadCommand, store, argv)
    t.equal(code, 0, output)
  }
  const { get } = await testApp(t, { store })
  const list = async (path: string) => (await get(path, 'savannah')).json().data
  return {
    entries: await list('/v1/entries?perPage=1000&embed=false'),
    agents: await list('/v1/agents'),
    forms: await list('/v1/forms'),
  }
}

const OPTIONS = ['--organisation=savannah', '--agent=enumerator', '--missing=-99']

for (const [title, { files }] of Object.entries(layouts))
  t.test(`${title}: every answer in the service is what was submitted`, { skip }, async (t) => {
    const cwd = t.testdir()
    await put(cwd, { 'form.xlsx': FORM, ...files })
    const { stdout } = await convert(cwd, 'form.xlsx', ...Object.keys(files), ...OPTIONS)
    t.match(stdout, 'forms.ndjson has 2 forms\nagents.ndjson has 2 agents\nentries.ndjson has 6 entries\n')
    t.notMatch(stdout, /does not have|differ|not among/)
    const { entries, agents, forms } = await loaded(t, cwd)
    t.same(
      entries,
      wanted().sort((one, other) => (one.id < other.id ? -1 : 1)),
    )
    t.match(agents, [
      { id: 'savannah-agent-7', firstName: 'Seventh team' },
      { id: 'savannah-agent-8', firstName: 'Eighth team' },
    ])
    t.match(forms, [{ name: 'Wells' }, { name: 'Wells: Members' }])
  })

t.test('with another language, questions and choices have its labels', { skip }, async (t) => {
  const cwd = t.testdir()
  await put(cwd, { 'form.xlsx': FORM, 'wells.csv': csvOf(tables({ several: 'both' }, false)[0], ';') })
  await convert(cwd, 'form.xlsx', 'wells.csv', '--language=Français (fr)', ...OPTIONS)
  const [first] = readFileSync(join(cwd, 'entries.ndjson'), 'utf8').split('\n')
  t.match(JSON.parse(String(first)).answers.slice(2, 5), [
    { question: 'D’où vient l’eau ?', answer: 'Autre' },
    { question: 'Si autre, précisez (source_other)' },
    { question: 'À quoi sert-elle ?', answer: ['Laver', 'Autre usage'] },
  ])
})

t.test('of questions with one label, that behind the column before is taken', { skip }, async (t) => {
  const cwd = t.testdir()
  const [main] = tables({ several: 'both', header: 1, values: 1 }, false)
  const first = (main[0] as string[]).indexOf('If other, please specify')
  const table = main.map((row) => row.filter((_, at) => at !== first))
  await put(cwd, { 'form.xlsx': FORM, 'wells.csv': csvOf(table, ';') })
  await convert(cwd, 'form.xlsx', 'wells.csv', ...OPTIONS)
  const entries = readFileSync(join(cwd, 'entries.ndjson'), 'utf8')
  t.match(entries, '"question": "If other, please specify (uses_other)", "answer": "Bricks"')
  t.notMatch(entries, 'source_other')
})

t.test('the agent may be a column beside the questions, and the id a question', { skip }, async (t) => {
  const cwd = t.testdir()
  await put(cwd, { 'form.xlsx': FORM, ...layouts['Central, several choices as both']?.files })
  const files = ['form.xlsx', 'wells.csv', 'wells-member.csv']
  await convert(cwd, ...files, '--organisation=savannah', '--agent=SubmitterID', '--id=taste', '--without=name')
  const entries = readFileSync(join(cwd, 'entries.ndjson'), 'utf8').trim().split('\n')
  const read = entries.map((line) => JSON.parse(line))
  t.match(read, [
    { id: 'savannah-wells-1', agent: 'savannah-agent-5' },
    { id: 'savannah-wells-3' },
    // The third has none, but its row has a number.
    { id: 'savannah-wells-4' },
    { id: 'savannah-wells-1-member-1', agent: 'savannah-agent-5', answers: [{}, { question: 'Age' }] },
  ])
  t.match(read[0].answers.slice(2), [{ question: 'Who asks?', answer: 'Seventh team' }])
})

t.test('what is left out is said, and what is doubtful is taken and counted', { skip }, async (t) => {
  const cwd = t.testdir()
  const [[names, first, second], members] = tables({ several: 'both' }, false) as unknown as [
    [string[], string[], string[]],
    Table,
  ]
  const changed = (row: string[], name: string, text: string) =>
    row.map((cell, at) => (names[at] === name ? text : cell))
  const rows = [changed(first, 'water/source', 'pond'), changed(second, 'water/uses/washing', '1')]
  const table = [[...names, 'cleaned_by'], ...rows.map((row) => [...row, 'a'])]
  await put(cwd, { 'form.xlsx': FORM, 'wells.csv': csvOf(table, ';'), 'member.csv': csvOf(members.slice(0, 2), ';') })
  const { stdout } = await convert(
    cwd,
    'form.xlsx',
    'wells.csv',
    'member.csv',
    '--without=uses_other,photo',
    ...OPTIONS,
  )
  t.equal(
    stdout,
    [
      'wells.csv: columns that are no answers: start, end, deviceid, water/uses_other, photo, _id, _uuid, _submission_time, _validation_status, _tags, _index',
      'wells.csv: left out, as the form does not have them: cleaned_by',
      'member.csv: columns that are no answers: _parent_table_name, _parent_index',
      'forms.ndjson has 2 forms',
      'agents.ndjson has 2 agents',
      'entries.ndjson has 3 entries',
      '1 answers were left out that stand for none',
      '1 answers to source were taken that are not among its choices',
      '1 cells of uses were taken that differ from its columns of choices',
      '',
    ].join('\n'),
  )
  const entries = readFileSync(join(cwd, 'entries.ndjson'), 'utf8')
  t.match(entries, /"answer": "pond"/)
  t.notMatch(entries, /Bricks|well 1\.jpg/)
})

t.test('an error names the file, the row or the column, and what is allowed', { skip }, async (t) => {
  const cwd = t.testdir()
  const [main, members] = tables({ several: 'both' }, false)
  const [names, ...rows] = main as [string[], ...Table]
  const csv = (change: (row: string[]) => string[]) => csvOf([names, ...rows.map(change)], ';')
  const changed = (name: string, text: string) =>
    csv((row) => row.map((cell, at) => (names[at] === name ? text : cell)))
  await put(cwd, {
    'form.xlsx': FORM,
    'list.xlsx': { Sheet1: [['a'], ['b']] },
    'wells.csv': csv((row) => row),
    'times.csv': changed('start', '14/3/2025'),
    'places.csv': changed('_place_latitude', 'north'),
    'ids.csv': changed('_uuid', 'same'),
    'wide.csv': csv((row) => [...row, 'more']),
    'late.csv': csvOf([['people'], ['3']], ';'),
    'member.csv': csvOf([...members, ['x', '1', 'Wells', '9']], ';'),
  })
  const wrong: [string[], RegExp][] = [
    [['form.xlsx', 'none.csv'], /^none\.csv cannot be read .*; allowed are an XLSX and a CSV in UTF-8/m],
    [['list.xlsx', 'wells.csv'], /^list\.xlsx: its sheet survey has no type and name, .*; allowed are XLSForms/m],
    [['form.xlsx', 'wells.csv', '--language=Hausa'], /^form\.xlsx: .*Hausa; allowed are English \(en\), Fran/m],
    [
      ['form.xlsx', 'times.csv'],
      /^times\.csv, row 2, column start: '14\/3\/2025' .*; allowed are times such as 2025-/m,
    ],
    [['form.xlsx', 'places.csv'], /^places\.csv, row 2, column _place_latitude: 'north' .*; allowed are .* degrees/m],
    [
      ['form.xlsx', 'ids.csv'],
      /^ids\.csv, row 3: savannah-wells-same is the id of a row before; allowed is --id=NAME/m,
    ],
    [['form.xlsx', 'wide.csv'], /^wide\.csv, row 2: it has \d+ cells; allowed are \d+/m],
    [['form.xlsx', 'late.csv'], /^late\.csv, row 2: it needs start, end, today, SubmissionDate/m],
    [
      ['form.xlsx', 'wells.csv', 'member.csv'],
      /^member\.csv, row 5: it needs PARENT_KEY or _parent_index of a row above/m,
    ],
    [['form.xlsx', 'wells.csv', 'late.csv'], /^late\.csv: its name ends with that of no repeat; allowed are member/m],
    [['form.xlsx', 'wells.csv', '--without=phone'], /^wells\.csv: no question or other column is phone; allowed are /m],
    [
      ['form.xlsx', 'wells.csv', '--without=water/uses'],
      /^wells\.csv: no question or other column is water\/uses; allowed are /m,
    ],
    [['form.xlsx', 'wells.csv', '--unknown=1'], /^Makes records of a form/m],
    [['form.xlsx'], /^Makes records of a form/m],
  ]
  for (const [argv, message] of wrong) {
    const failed = convert(cwd, ...argv, '--organisation=savannah')
    await t.rejects(failed, { code: 1, stderr: message }, argv.join(' '))
  }
})

// --- the page

t.test('docs/from-a-form.md is true', { skip: skip || withoutServer, timeout: 120_000 }, async (t) => {
  const reader = new Reader(t)
  await put(reader.folder, { 'form.xlsx': FORM, 'wells.xlsx': layouts['Kobo, names']?.files['wells.xlsx'] as Sheets })
  await reader.run(
    `mkdir -p venv/bin && printf '#!/bin/sh\\nexec ${PYTHON} "$@"' > venv/bin/python && chmod +x venv/bin/python`,
  )
  let output = ''
  let key = ''
  for (const { place, language, text } of blocksOf('docs/from-a-form.md')) {
    // The network is needed for packages.
    if (text.startsWith('python3 -m venv')) continue
    if (language === 'text') t.equal(firstMissing(text, output), undefined, `${place} is printed`, { output })
    else {
      const program = await reader.run(text)
      if (!text.endsWith('npm start')) t.equal(await program.code, 0, text, { output: program.output() })
      output = await reader.asOnThePage(program.output())
      key ||= /^fda_\S+/m.exec(output)?.[0] ?? ''
    }
  }
  const headers = { authorization: `Bearer ${key}` }
  const page = await fetch(`${await reader.url()}/v1/entries?perPage=1000&embed=false`, { headers })
  t.equal(((await page.json()) as { data: unknown[] }).data.length, 6)
})
