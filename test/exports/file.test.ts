// Whole files: every record once, read in pages of a bounded size, and sent in parts of one.
import { parquetReadObjects } from 'hyparquet'
import { ObjectId } from 'mongodb'
import t, { type Test } from 'tap'
import type { FormatName } from '../../schemas/exports.js'
import { MAX_QUESTIONS } from '../../src/core/read/question-keys.js'
import { QueryTimeout, type Store } from '../../src/core/store/store.js'
import { MAX_RESPONSE_BYTES, UnfitForFormat } from '../../src/core/write/errors.js'
import { allExported, type Exported, type ExportListing, wrongFor } from '../../src/exports/exported.js'
import { openFile, type Wanted } from '../../src/exports/file.js'
import { readCsv } from '../support/csv.js'
import { testStore } from '../support/store.js'
import { A, a } from '../support/tenants.js'
import { isThorough, leftToGate } from '../support/thorough.js'
import { testReader } from '../support/tickets.js'
import { sheetRows, unzip } from '../support/xlsx.js'

const MiB = 1024 * 1024
const tooLarge = `the document becomes more than ${MAX_RESPONSE_BYTES / 2} bytes`
const scope = { organisation: A }

interface Listing extends Partial<ExportListing> {
  readonly ids?: readonly string[]
}

const wantedOf = (format: FormatName, listing: Listing = {}, name = 'entries'): Wanted => ({
  exported: allExported.find((each) => each.name === name) as Exported,
  ...{ format, listing: { sortOrder: 'asc', ...listing } },
})

/** A file of a store: its parts, the records it left out, and how many rows were asked for and found in each reading. */
const fileOf = async (store: Store, ...wanted: Parameters<typeof wantedOf>) => {
  const read: { count: number; bytes: number }[] = []
  const counted: Store = {
    ...store,
    async aggregate(query, reading) {
      const list = await store.aggregate(query, reading)
      read.push({ count: list.documents.length, bytes: list.size })
      return list
    },
  }
  const { parts, left } = await openFile(await testReader(counted, scope), wantedOf(...wanted))
  const buffers: Buffer[] = []
  for await (const part of parts) if (part.length > 0) buffers.push(Buffer.from(part))
  return { parts: buffers, text: Buffer.concat(buffers).toString(), skipped: left, read }
}

const idsOf = ({ text }: { text: string }): string[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id)

const fill = async (t: Test, ids: readonly unknown[], changes = {}): Promise<Store> => {
  const store = testStore(t)
  await store.insert(
    'entries',
    ids.map((_id) => a.entry(1, { _id: _id as string, ...changes })),
  )
  return store
}
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `e${String(i).padStart(5, '0')}`)

t.test('a file has every record once, in the order of ids or against it, up to a limit', async (t) => {
  const ids = numbered(300)
  const store = await fill(t, ids)
  for (const [listing, wanted] of <[Listing, string[]][]>[
    [{}, ids],
    [{ sortOrder: 'desc' }, ids.toReversed()],
    [{ sortOrder: 'desc', limit: 200 }, ids.toReversed().slice(0, 200)],
    [{ limit: 1 }, ids.slice(0, 1)],
    [{ limit: 50 }, ids.slice(0, 50)],
    [{ ids: ['nothing'] }, []],
  ]) {
    t.strictSame(idsOf(await fileOf(store, 'ndjson', listing)), wanted)
  }
  const most = numbered(2100)
  const { parts, text } = await fileOf(await fill(t, most), 'ndjson', { fields: ['status'] })
  t.strictSame(idsOf({ text }), most)
  t.strictSame(
    parts.map((part) => String(part).split('\n').length - 1),
    [50, 200, 800, 1000, 50],
    'the first records come soon',
  )
})

t.test('pages of large records are small, and grow again behind them', { skip: leftToGate }, async (t) => {
  const answers = [{ type: 'text', question: 'What?', answer: 'x'.repeat(100_000) }]
  const store = await fill(t, numbered(100), { answers })
  const small = numbered(2400).map((id) => a.entry(1, { _id: `f${id}` }))
  await store.insert('entries', small)
  const { read, parts } = await fileOf(store, 'ndjson')
  const [first, ...others] = read
  t.equal(first?.count, 51, 'one more than is shown')
  t.ok(Math.max(...others.map(({ bytes }) => bytes)) < 2.5 * MiB)
  t.equal(Math.max(...others.map(({ count }) => count)), 1001)
  t.ok(Math.max(...parts.map(({ length }) => length)) < 5.5 * MiB)
})

t.test('a page that becomes much more than it was is sent in several parts', { skip: leftToGate }, async (t) => {
  const question = 'q'.repeat(100_000)
  const answer = Array.from({ length: 30 }, (_, i) => String(i))
  const store = await fill(t, numbered(4), { answers: [{ type: 'multiChoice', question, answer }] })
  const { parts, read } = await fileOf(store, 'csv', {}, 'answers')
  t.equal(read.length, 2, 'records whose ids are texts, and others')
  t.strictSame(
    parts.map((part) => String(part).split('\r\n').length - 1),
    [61, 60],
  )
})

t.test(
  'a large question with many choices is in each file of entries, and too large for one of answers',
  { skip: leftToGate },
  async (t) => {
    const answer = Array.from({ length: 5000 }, (_, i) => String(i % 10))
    const store = await fill(t, ['large'], {
      answers: [{ type: 'multiChoice', question: 'q'.repeat(300_000), answer }],
    })
    await store.insert('entries', [a.entry(1, { _id: 'small' })])
    for (const { name, formats } of allExported.filter(({ resource }) => resource.collection === 'entries')) {
      for (const format of formats) {
        const file = (listing: Listing) => fileOf(store, format, listing, name)
        // A cell of a sheet is shorter.
        if (format === 'xlsx') {
          const message = /^entries large: answers.* has more than 32767 characters, the most of a cell of XLSX$/
          await t.rejects(file({ unreadable: 'skip' }), { constructor: UnfitForFormat, message }, name)
        } else if (name === 'entries') t.strictSame((await file({ unreadable: 'skip' })).skipped, [], format)
        else {
          if (isThorough || format === 'csv')
            await t.rejects(file({}), { id: 'large', message: `entries large: ${tooLarge}` }, format)
          if (isThorough || format !== 'csv')
            t.strictSame((await file({ unreadable: 'skip' })).skipped, [{ id: 'large', message: tooLarge }], format)
        }
      }
    }
    const [header = [], row = []] = readCsv((await fileOf(store, 'csv', { form: a.form._id })).text)
    t.strictSame(
      header.slice(-3).map((question) => question?.length),
      ['Source?'.length, 255 + ' (0123456789ab)'.length, 'Uses?'.length],
    )
    t.equal(row.at(-2), answer.join('; '))
  },
)

t.test(
  'a record that becomes larger than a response breaks the file with its id, or is left out',
  { skip: leftToGate },
  async (t) => {
    const store = await fill(t, ['a', 'c'])
    // In JSON each of these is six bytes.
    await store.insert('entries', [a.entry(1, { _id: 'b', status: '\0'.repeat(11 * MiB) })])
    const error = { id: 'b', message: `entries b: ${tooLarge}` }
    // Every day, a large question breaks a file of answers.
    if (isThorough) await t.rejects(fileOf(store, 'ndjson'), error)
    const { text, skipped } = await fileOf(store, 'ndjson', { unreadable: 'skip' })
    const left = [{ id: 'b', message: tooLarge }]
    t.strictSame(skipped, left)
    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
    t.match(lines, [{ id: 'a' }, { id: 'c' }, { unreadable: left }])
    t.equal(lines.length, 3)
  },
)

t.test('records whose ids are no texts come last, and break the file or are left out', async (t) => {
  const id = '665f1c2ab8d4e0a1c3f20b17'
  const store = await fill(t, [new ObjectId(id), 'b', 'a'])
  const left = { id, message: '_id is not a string of valid UTF-8' }
  await t.rejects(fileOf(store, 'csv'), { message: /: _id is not a string of valid UTF-8$/ })
  const { text, skipped } = await fileOf(store, 'csv', { unreadable: 'skip', fields: ['status'] })
  t.strictSame(skipped, [left])
  t.equal(text, '"id","status"\r\na,accepted\r\nb,accepted\r\n')
})

t.test(
  'a form with more questions than columns has no table, and a file with the wrong parameters neither',
  async (t) => {
    const answers = Array.from({ length: MAX_QUESTIONS + 1 }, (_, i) => ({
      type: 'text',
      question: `${i}`,
      answer: 'x',
    }))
    const store = await fill(t, ['a'], { form: 'f', answers })
    await t.rejects(fileOf(store, 'csv', { form: 'f' }), {
      code: 'invalid_parameter',
      detail: /more than 2000 questions/,
    })
    await store.insert('entries', [a.entry(1, { form: 'g', answers: [{ type: 'text', answer: 'x' }] as never })])
    await t.rejects(fileOf(store, 'csv', { form: 'g' }), { message: /answers\.0\.question is missing$/ })
    t.equal((await fileOf(store, 'csv', { form: 'f', fields: ['status'] })).text, '"id","status"\r\na,accepted\r\n')
    t.strictSame(
      wrongFor('ndjson', { sortOrder: 'asc', bom: 'true', names: 'true' }).map(({ name }) => name),
      ['bom', 'names'],
    )
    t.strictSame(wrongFor('csv', { sortOrder: 'asc', bom: 'true' }), [])
  },
)

t.test('a Parquet file is whole, and is closed where it ends early', async (t) => {
  const ids = numbered(300)
  const store = await fill(t, ids)
  const { parts } = await fileOf(store, 'parquet', { fields: ['status'] })
  const file = new Uint8Array(Buffer.concat(parts)).buffer
  t.strictSame(
    await parquetReadObjects({ file }),
    ids.map((id) => ({ id, status: 'accepted' })),
  )
  const { parts: others } = await openFile(await testReader(store, scope), wantedOf('parquet'))
  t.match(String((await others.next()).value), /^PAR1/)
  t.strictSame(await others.return(), { done: true, value: undefined })
})

t.test('a feature has its place whatever fields are chosen', async (t) => {
  const { text } = await fileOf(await fill(t, ['a']), 'geojson', { fields: ['status'] })
  const geometry = { type: 'Point', coordinates: [8.5387, 11.9805] }
  const feature = { type: 'Feature', properties: { id: 'a', status: 'accepted' }, id: 'a', geometry }
  t.strictSame(JSON.parse(text).features, [feature])
})

t.test('a reading that takes too long is a problem, also where it reads the questions', async (t) => {
  const store = { ...testStore(t), aggregate: () => Promise.reject(new QueryTimeout(new Error('slow'))) }
  for (const listing of [{}, { form: 'f' }]) await t.rejects(fileOf(store, 'csv', listing), { code: 'query_timeout' })
  const uncounted = { ...testStore(t), count: () => Promise.reject(new QueryTimeout(new Error('slow'))) }
  t.ok((await fileOf(uncounted, 'xlsx')).parts.length > 0, 'rows that cannot be counted are written')
  const broken = { ...testStore(t), count: () => Promise.reject(new Error('broken')) }
  await t.rejects(fileOf(broken, 'xlsx'), { message: 'broken' })
})

t.test('more records than a sheet has rows are refused before, unless there is a limit', async (t) => {
  const store = { ...(await fill(t, ['a', 'b'])), count: async () => 1_048_576 }
  const detail =
    'format must be one of csv, parquet, ndjson, geojson, or there must be a limit: 1048576 records match, and a sheet has at most 1048575'
  await t.rejects(fileOf(store, 'xlsx'), { code: 'invalid_parameter', detail })
  const { parts } = await fileOf(store, 'xlsx', { limit: 1, form: a.form._id, fields: ['answers'] })
  t.strictSame(sheetRows(unzip(Buffer.concat(parts)).get('xl/worksheets/sheet1.xml') as string), [
    ['id', 'Source?', 'Uses?'],
    ['a', 'Borehole', 'Drinking; Washing'],
  ])
})

t.test('each question has a property in GeoJSON and a column in Parquet, under a name of its own', async (t) => {
  const long = 'x'.repeat(254)
  const asked = [
    'id',
    'ID ',
    'Status',
    '',
    'fid',
    'a\r\nb',
    '\ufeff',
    "'a b",
    long,
    `${long} y`,
    '__proto__',
    'toString',
    'id (a56145270ce6)',
  ]
  const answers = asked.map((question, i) => ({
    ...{ type: 'text', question, answer: [`${i}`, 'x'] },
  }))
  const store = await fill(t, ['e'], { form: 'f', answers })
  await store.insert('entries', [a.entry(1, { _id: 'f', form: 'f', answers: [] as never })])
  // The first 12 digits of the SHA-256 of the question.
  const wanted = {
    ...{ 'id (a56145270ce6) +': '0; x', 'ID (efb046db8c83)': '1; x', 'Status (920e413c7d41)': '2; x' },
    ...{ 'question (e3b0c44298fc)': '3; x', 'fid (9f0c710ce3e5)': '4; x', 'a b (18745f36a05e)': '5; x' },
    ...{ 'question (f1945cd6c19e)': '6; x', "'a b (7667c63717b3)": '7; x' },
    ...{
      [`${long} (af97a1a6ca66)`]: '8; x',
      [`${long} (7bb7dfd2f4f4)`]: '9; x',
      ['__proto__']: '10; x',
      toString: '11; x',
      'id (a56145270ce6)': '12; x',
    },
  }
  const listing: Listing = { form: 'f', fields: ['answers', 'status'] }
  const { text } = await fileOf(store, 'geojson', listing)
  t.strictSame(JSON.parse(text).features[0].properties, { id: 'e', status: 'accepted', ...wanted })
  const { parts } = await fileOf(store, 'parquet', listing)
  const [row, other] = await parquetReadObjects({ file: new Uint8Array(Buffer.concat(parts)).buffer })
  // The reader of this test leaves out what is called __proto__.
  const { ['__proto__']: _, ...read } = wanted
  t.strictSame(JSON.stringify(row), JSON.stringify({ id: 'e', status: 'accepted', ...read }))
  t.strictSame([other?.id, other?.toString], ['f', null], 'no answer is a member of every object')
  const csv = readCsv((await fileOf(store, 'csv', listing)).text)
  t.strictSame(csv[0], ['id', 'status', ...Object.keys(wanted)])
})
