// The rows of answers of any entries, compared with the answers in JSON of the same entries.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { EntryListItem } from '../../schemas/entries.js'
import { listedSchemas } from '../../schemas/index.js'
import { select } from '../../schemas/kit.js'
import { csvColumns } from '../../src/core/write/csv.js'
import { MAX_RESPONSE_BYTES } from '../../src/core/write/errors.js'
import { jsonLines } from '../../src/core/write/json.js'
import { Output } from '../../src/core/write/output.js'
import { answersTable } from '../../src/exports/answers.js'
import { readCsv } from '../support/csv.js'
import { fileOf, hostileTexts, type Item, itemsOf, misfits } from '../support/formats.js'
import { type Elements, listOf, plain, stored } from '../support/stored.js'
import { leftToGate, runs } from '../support/thorough.js'

const Answered = select(EntryListItem, ['id', 'answers'])
const lines = answersTable(jsonLines).rows
const table = answersTable(csvColumns({ formulas: 'keep' })).rows

/** The rows of a list, and what the same rows are by its JSON. */
const rowsOf = (list: ReturnType<typeof listOf>) => {
  const { text, failures } = fileOf(lines, list)
  const rows = text.split('\n').slice(0, -1)
  return { rows: rows.map((line) => JSON.parse(line) as Item), failures }
}

const wantedOf = (list: ReturnType<typeof listOf>) => {
  const { items, failures } = itemsOf(Answered, list, listedSchemas)
  const rows = items.flatMap(({ id, answers }) =>
    (answers as Item[]).flatMap(({ type, question, answer = [] }, i) => {
      const row = { entry: id, position: i + 1, type, question }
      const words = answer as string[]
      return words.length === 0 ? [row] : words.map((answer) => ({ ...row, answer }))
    }),
  )
  return { rows, failures }
}

const words = fc.oneof(
  hostileTexts,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17'), stored.int64(-(2n ** 63n)), stored.int64(5n)),
)
const values = fc.oneof(words, fc.array(words, { maxLength: 3 }), fc.constantFrom(null, stored.undefined))
const entries = fc
  .array(
    fc
      .record({ type: hostileTexts, question: hostileTexts, answer: values }, { requiredKeys: ['type', 'question'] })
      .map((answer) => stored.document(plain(answer))),
    { maxLength: 4 },
  )
  .map((answers) => plain({ _id: 'x', answers }))

t.test('each word has a row, and a question without one has a row too', async (t) => {
  const documents = fc.array(fc.oneof<fc.Arbitrary<Elements>[]>(entries, misfits(Answered)), { maxLength: 5 })
  fc.assert(
    fc.property(documents, (documents) => {
      const list = listOf(documents, 'entries')
      assert.deepEqual(rowsOf(list), wantedOf(list))
    }),
    { numRuns: runs(50, 200) },
  )
  const answers = [
    { type: 'text', question: 'A?', answer: -0 },
    { type: 'text', question: 'B?', answer: ['x', 1e21] },
    { type: 'text', question: 'C?', answer: [] },
  ]
  const { rows } = rowsOf(listOf([plain({ _id: 'x', answers })]))
  t.strictSame(
    rows.map(({ position, answer }) => [position, answer]),
    [
      [1, '0'],
      [2, 'x'],
      [2, '1e+21'],
      [3, undefined],
    ],
  )
})

t.test('of two values with one name the last counts, as in JSON', async (t) => {
  const answer = stored.document([
    ['question', 5],
    ['answer', true],
    ['type', null],
    ...plain({ type: 'text', question: 'Q?', answer: 'x' }),
  ])
  const list = listOf([[...plain({ _id: 'x', answers: 7 }), ['answers', [answer]]]])
  t.strictSame(rowsOf(list).rows, [{ entry: 'x', position: 1, type: 'text', question: 'Q?', answer: 'x' }])
})

/** An entry with one question, which has this length and this number of choices. */
const chosen = (bytes: number, choices: number, _id = 'large') => {
  const answer = Array.from({ length: choices }, (_, i) => String(i % 10))
  return plain({ _id, answers: [{ type: 'multiChoice', question: 'q'.repeat(bytes), answer }] })
}

t.test('a table has the same rows as the lines', async () => {
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 3 }), (documents) => {
      const list = listOf(documents)
      const [header = [], ...cells] = readCsv(fileOf(table, list).text)
      const wanted = rowsOf(list).rows.map((row) => header.map((name) => row[name as string]))
      const found = cells.map((row) => row.map((cell, i) => (header[i] === 'position' ? Number(cell) : cell)))
      assert.deepEqual(found, wanted)
    }),
    { numRuns: 50 },
  )
})

t.test(
  'an entry whose rows are too large is left out in bounded memory, and the others are not',
  { skip: leftToGate },
  async (t) => {
    const list = listOf([chosen(5, 1, 'a'), chosen(300_000, 5000), chosen(5, 1, 'b')], 'entries')
    for (const format of [lines, table]) {
      const out = new Output()
      const { text, failures } = fileOf(format, list, out)
      t.equal(text.split('\n').length, format === lines ? 3 : 4)
      t.strictSame(failures, [
        {
          ...{ collection: 'entries', id: 'large', field: '' },
          message: `entries large: the document becomes more than ${MAX_RESPONSE_BYTES / 2} bytes`,
        },
      ])
      t.ok(out.target.bytes.length <= 2 * MAX_RESPONSE_BYTES)
    }
  },
)
