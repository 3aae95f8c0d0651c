// CSV of any documents, read back by a strict reader and compared with JSON of the same documents.
import assert from 'node:assert/strict'
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { Agent } from '../../../schemas/agents.js'
import { Dispatch, DispatchListItem } from '../../../schemas/dispatches.js'
import { EntryListItem } from '../../../schemas/entries.js'
import { AnswerRow } from '../../../schemas/exports.js'
import { EntryForm, Form } from '../../../schemas/forms.js'
import { listedSchemas, namedSchemas } from '../../../schemas/index.js'
import { JOINED_SUFFIX, joined } from '../../../schemas/kit.js'
import { Project } from '../../../schemas/projects.js'
import { User } from '../../../schemas/users.js'
import type { BsonDocument, BsonList } from '../../../src/core/bson/reader.js'
import { tableOf } from '../../../src/core/write/columns.js'
import { type CsvOptions, csvColumns } from '../../../src/core/write/csv.js'
import type { Shown } from '../../../src/core/write/writer.js'
import { readCsv } from '../../support/csv.js'
import { asColumns, fileOf, flattened, hostileTexts, type Item, itemsOf, mixedLists } from '../../support/formats.js'
import { listOf, plain, stored } from '../../support/stored.js'
import { runs } from '../../support/thorough.js'

const RUNS = runs(10, 40)

/** Entries with the names of their forms beside the ids. */
const EntryWithName = Type.Object(
  { ...EntryListItem.properties, [`form${JOINED_SUFFIX}`]: Type.Optional(joined(EntryForm)) },
  { $id: 'EntryWithName' },
)
/** Cells with ids. All other lists are JSON. */
const LISTS: Record<string, readonly string[]> = {
  DispatchListItem: ['recipients.agents', 'recipients.agentGroups'],
  Dispatch: ['recipients.agentGroups'],
  Project: ['dispatches'],
}

const csv = (shown: Shown, options: CsvOptions, questions?: readonly string[]) =>
  tableOf(shown, csvColumns(options), questions && asColumns(questions)).rows

const table = (schema: TSchema, list: BsonList, options: CsvOptions = {}) => {
  const { text, failures } = fileOf(csv({ schema, named: namedSchemas }, options), list)
  const [header, ...rows] = readCsv(text)
  return { header, rows, failures }
}

/** What a cell says, given what JSON has in its place. */
const told = (cell: string | undefined, value: unknown): unknown =>
  cell === undefined || typeof value === 'string' ? cell : JSON.parse(cell)

const idsOf = (value: unknown): unknown => (value as { id: string }[] | undefined)?.map(({ id }) => id).join('; ')

for (const schema of [
  EntryListItem,
  EntryWithName,
  DispatchListItem,
  Dispatch,
  Project,
  Agent,
  User,
  Form,
  AnswerRow,
]) {
  t.test(`CSV of ${schema.$id} has what its JSON has`, async (t) => {
    const lists = LISTS[String(schema.$id)] ?? []
    const key = schema === AnswerRow ? 'entry' : 'id'
    fc.assert(
      fc.property(mixedLists(schema, 'entries'), (list) => {
        const { items, failures } = itemsOf(schema, list)
        const found = table(schema, list, { formulas: 'keep' })
        const wanted = items.map((item) =>
          flattened(schema, item).map(([path, value]) => (lists.includes(path) ? idsOf(value) : value)),
        )
        const rows = found.rows.map((row, i) => row.map((cell, j) => told(cell, wanted[i]?.[j])))
        assert.deepEqual(found.failures, failures)
        assert.equal(JSON.stringify(rows), JSON.stringify(wanted))
      }),
      { numRuns: RUNS },
    )
    const { header } = table(schema, listOf([]))
    t.strictSame(
      header,
      flattened(schema, {}).map(([path]) => path.replace(JOINED_SUFFIX, '')),
    )
    t.equal(header?.[0], key)
  })
}

t.test('the file begins with a byte order mark where it is wanted, and has a header also without rows', async (t) => {
  const schema = Type.Object({ id: Type.String(), at: Type.Object({ city: Type.String() }) })
  t.equal(fileOf(csv({ schema, named: namedSchemas }, {}), listOf([])).text, '"id","at.city"\r\n')
  t.equal(fileOf(csv({ schema, named: namedSchemas }, { bom: 'true' }), listOf([])).text, '\ufeff"id","at.city"\r\n')
})

const named = Type.Object({ id: Type.String(), name: Type.String(), size: Type.Optional(Type.Number()) })
const nameList = (...names: unknown[]) => listOf(names.map((name) => plain({ _id: 'x', name, size: -1 })))

t.test('a text that a spreadsheet would run gets an apostrophe, a number does not', async (t) => {
  for (const [name, wanted] of [
    ...[
      '=1+1',
      '+234',
      '-x',
      '@a',
      '\tb',
      '\rc',
      '\n=1',
      '\0d',
      '-',
      '-1-1',
      '-1.',
      '-.5',
      '--1',
      '-1e',
      '-1 ',
      '-1\n',
      '=',
      ' =1',
      '\ufeff=1',
      '\u200b\u00a0 ＝1',
      '＋1',
      '＠a',
      '\x0b=1',
      '\u061c=1',
      '﹦1',
      '\u{e0001}=1',
    ].map((text) => [text, `'${text}`]),
    ...['-1', '-12.5', '-1e9', '-1.25E-7', '', ' 1', '１＝１', '1=1', "'=1", 'é', '１'].map((text) => [text, text]),
  ]) {
    t.strictSame(table(named, nameList(name)).rows, [['x', wanted, '-1']], JSON.stringify(name))
    t.strictSame(table(named, nameList(name), { formulas: 'keep' }).rows, [['x', name, '-1']])
  }
  const list = listOf([plain({ _id: '=id', name: '', size: -5e300 })])
  t.strictSame(table(named, list).rows, [["'=id", '', '-5e+300']])
})

t.test('any text keeps its characters behind the apostrophe', async (t) => {
  fc.assert(
    fc.property(fc.array(hostileTexts), (names) => {
      const list = nameList(...names)
      const { items } = itemsOf(named, list)
      const cells = table(named, list).rows.map(([, name = '']) => name)
      const wanted = items.map(({ name }) => {
        const text = String(name)
        return /^([\s\p{Cc}\p{Cf}]*[=+\-@]|[\t\n\r\0])/u.test(text.normalize('NFKC')) &&
          !/^-\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)
          ? `'${text}`
          : text
      })
      assert.deepEqual(cells, wanted)
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test('words and ids stand in one cell, empty ones too', async (t) => {
  const schema = Type.Object({
    id: Type.String(),
    words: Type.Array(Type.String()),
    ids: Type.Array(Type.Object({ id: Type.String() })),
  })
  const rowOf = (words: unknown[], ids: object[]) => table(schema, listOf([plain({ _id: 'x', words, ids })])).rows[0]
  const id = new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17')
  t.strictSame(rowOf([], []), ['x', '', ''])
  t.strictSame(rowOf([''], [{ _id: 'a' }]), ['x', '', 'a'])
  t.strictSame(rowOf(['', 'a', '', '=b'], [{ _id: id }, { _id: '"' }]), ['x', '; a; ; =b', `${id}; "`])
  t.strictSame(rowOf(['=b', id], []), ['x', `'=b; ${id}`, ''])
  const twice = stored.document([
    ['_id', 5],
    ['_id', 'last'],
  ])
  t.strictSame(rowOf([], [twice])?.[2], 'last', 'of two values the last counts, as in JSON')
})

t.test('a value of several types is JSON', async (t) => {
  const schema = Type.Object({
    id: Type.String(),
    any: Type.Unknown(),
    either: Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]),
    none: Type.Union([Type.Number(), Type.Null()]),
  })
  const rows = table(
    schema,
    listOf([
      plain({ _id: '1', any: { a: '"' }, either: '=a', none: null }),
      plain({ _id: '2', any: null, either: ['a', '"'], none: 5 }),
    ]),
  ).rows
  t.strictSame(rows, [
    ['1', '{"a":"\\""}', '"=a"', 'null'],
    ['2', 'null', '["a","\\""]', '5'],
  ])
})

// --- questions

const questions = ['Why, "you"?', '=How()', 'When?', '']
const Answered = Type.Object({ id: EntryListItem.properties.id, answers: EntryListItem.properties.answers })
const answeredShown = { schema: Answered, named: listedSchemas }
const answers = fc.array(
  fc.record(
    {
      type: fc.constant('text'),
      question: fc.constantFrom(...questions),
      answer: fc.oneof(
        hostileTexts,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom(null, stored.undefined, new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17')),
        fc.array(fc.oneof(hostileTexts, fc.integer()), { maxLength: 3 }),
      ),
    },
    { requiredKeys: ['type', 'question'] },
  ),
  { maxLength: 6 },
)

const answered = (list: BsonList, options: CsvOptions = {}) =>
  readCsv(fileOf(csv(answeredShown, options, questions), list).text)

t.test('each question has a cell with all its answers', async (t) => {
  t.strictSame(answered(listOf([])), [['id', 'Why, "you"?', "'=How()", 'When?', '']])
  fc.assert(
    fc.property(fc.array(answers, { maxLength: 4 }), (entries) => {
      const list = listOf(
        entries.map((answers) => plain({ _id: 'x', answers: answers.map((answer) => stored.document(plain(answer))) })),
      )
      const { items } = itemsOf(Answered, list, listedSchemas)
      const wanted = items.map((item) => [
        'x',
        ...questions.map((question) => {
          const given = (item.answers as Item[]).filter((each) => each.question === question && 'answer' in each)
          return given.length === 0 ? undefined : given.flatMap(({ answer }) => answer as string[]).join('; ')
        }),
      ])
      assert.deepEqual(answered(list, { formulas: 'keep' }).slice(1), wanted)
    }),
    { numRuns: RUNS },
  )
})

t.test('an answer to another question ends the row, unless it is empty', async (t) => {
  const entry = (_id: string, answer?: string) =>
    plain({ _id, answers: [{ type: 'text', question: 'New?', ...(answer !== undefined && { answer }) }] })
  const list = listOf([entry('a'), entry('b', 'x')], 'entries')
  const { text, failures } = fileOf(csv(answeredShown, {}, ['Old?']), list)
  t.equal(text, '"id","Old?"\r\na,\r\n')
  t.match(failures, [
    {
      id: 'b',
      field: 'answers.0',
      message: 'entries b: answers.0 has a question that came while the export was made',
    },
  ])
})

t.test('entries without questions have no cell for answers', async (t) => {
  const list = listOf([plain({ _id: 'a', answers: [] })])
  t.equal(fileOf(csv(answeredShown, {}, []), list).text, '"id"\r\na\r\n')
})

t.test('a question that was answered many times is written word by word, each once', async (t) => {
  const count = 5000
  const given = Array.from({ length: count }, (_, i) => ({ type: 'text', question: 'Why?', answer: `${i}` }))
  const [document] = listOf([plain({ _id: 'x', answers: given })]).documents as [BsonDocument]
  let copies = 0
  document.bytes.copy = (...place) => {
    copies += 1
    return Buffer.prototype.copy.apply(document.bytes, place)
  }
  const { text } = fileOf(csv(answeredShown, {}, ['Why?']), { documents: [document] })
  t.equal(text, `"id","Why?"\r\nx,"${given.map(({ answer }) => answer).join('; ')}"\r\n`)
  t.equal(copies, count + 1, 'the id and the words')
})
