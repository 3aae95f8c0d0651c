// The lines of a file that is loaded: which of them are valid, and what is reported about the others.
import { open, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Line, readLines } from '../../src/commands/load-lines.js'
import { type CollectionName, collections } from '../../src/core/documents/collections.js'
import { testApp } from '../support/app.js'
import { damagedText } from '../support/damages.js'
import { entry, fileWith, line, organisation } from '../support/load.js'
import { a } from '../support/tenants.js'
import { leftToGate, runs } from '../support/thorough.js'

const readFile = async (file: string, collection: CollectionName = 'entries'): Promise<Line[]> => {
  const lines: Line[] = []
  for await (const line of readLines(file, collections[collection].schema, organisation)) lines.push(line)
  return lines
}

const read = (t: Test, text: string | Buffer, collection?: CollectionName) => readFile(fileWith(t, text), collection)

const { organisation: _, ...dispatch } = a.dispatch(1)

/** A dispatch as a line, with any JSON as its attachment. */
const withAttachment = (attachment: string) =>
  JSON.stringify({ ...dispatch, instructions: { attachments: ['?'] } }).replace('"?"', attachment)

t.test('lines become documents with dates and the organisation, and blank lines are skipped', async (t) => {
  const { _id, ...rest } = entry
  const lines = [`\uFEFF${JSON.stringify({ id: _id, ...rest })}`, '', line({ _id: 'second', organisation }), '']
  const found = await read(t, lines.join('\r\n'))
  t.same(
    found.map(({ number, document, error }) => ({ number, document, error })),
    [
      { number: 1, document: { ...entry, organisation }, error: undefined },
      { number: 3, document: { ...entry, _id: 'second', organisation }, error: undefined },
    ],
  )
})

t.test('an invalid line has an error that says what is wrong', async (t) => {
  const date = 'must be a date such as 2025-03-14T09:26:53.589Z, from the year 0001 to 9999 in UTC'
  const dates = [
    ...['yesterday', '2025-02-31T00:00:00', '2024-02-30T00:00:00Z', '2024-01-01T24:00:00Z', '2024-13-01T00:00:00Z'],
    ...['2024-01-01T00:00:00.0001Z', '2024-01-01t00:00:00Z', '0000-06-01T00:00:00Z', '0001-01-01T00:00:00+14:00'],
    '9999-12-31T23:59:59-14:00',
  ]
  for (const [text, error, collection] of [
    ['{"_id":', 'is not valid JSON: '],
    ['[1]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    [line({ id: 'x' }), 'has both id and _id'],
    [line({ organisation: 'other' }), `organisation: must be ${organisation} or left out`],
    ...dates.map((createdAt) => [line({ createdAt }), `createdAt: ${date}`]),
    [line({ duration: 'HUGE' }).replace('"HUGE"', '1e400'), 'duration: expected number'],
    [line({ duration: 'long' }), 'duration: expected number'],
    [line({ status: 'x'.repeat(2 * 1024 * 1024) }), 'is longer than 2 MiB'],
    [line({ status: '\ud800' }), 'status: contains half of a surrogate pair'],
    [line({ _id: '\ud800' }), 'id: contains half of a surrogate pair'],
    [line({ location: { coordinates: { longitude: 1 } } }), 'location.coordinates.lattitude: is missing'],
    [line({ createdAt: undefined }), 'createdAt: is missing'],
    [
      '{"id":"e","duration":"long"}',
      'status: is missing; answers: is missing; createdAt: is missing; updatedAt: is missing; duration: expected number',
    ],
    [
      line({ answers: Array(99).fill(1) }),
      Array.from({ length: 10 }, (_, i) => `answers.${i}: expected object`).join('; '),
    ],
    [line({ unknown: 1 }), 'unknown: is not a known field'],
    [line({ formerProjects: [] }), 'formerProjects: is not a known field'],
    [line({ location: 3 }), 'location: expected object'],
    [line({ _id: undefined }), 'id: is missing'],
    ...[34, true, null, ['34', 5]].map((answer) => [
      line({ answers: [{ type: 'number', question: 'Age?', answer }] }),
      'answers.0.answer: must be a text or a list of texts, such as "34"',
    ]),
    [line({ duration: 'x' }).replace('"x"', '-Infinity'), 'has -Infinity, which is not JSON: leave the field out'],
    ...['x\0', 'x\n', 'x\x7f', 'x\x85', 'checkpoint'].map((_id) => [
      line({ _id }),
      'id: must not be checkpoint, and must not contain control characters',
    ]),
    [line({ _id: 'x\ud800' }), 'id: contains half of a surrogate pair'],
    [line({ agent: 'x\0' }), 'agent: must not contain control characters'],
    [line({ _id: 'x'.repeat(501) }), 'id: expected string length less or equal to 500'],
    [
      JSON.stringify({ ...dispatch, dispatchType: 'open' }),
      'dispatchType: must be one of basic, prefilled, hybrid, survey',
      'dispatches',
    ],
  ] as [string, string, CollectionName?][]) {
    const [found, ...others] = await read(t, text, collection)
    t.equal(found?.document, undefined)
    t.equal(found?.error?.startsWith(error), true, `${error}: ${found?.error}`)
    t.ok(Number(found?.error?.length) < 1000)
    t.same(others, [])
  }
})

t.test('a value that cannot be stored or served is found at any depth', async (t) => {
  const place = 'instructions.attachments.0'
  for (const [attachment, error] of [
    [`${'['.repeat(120)}${']'.repeat(120)}`, `${place}.0: is nested deeper than 100 levels`],
    ['{"_bsontype":"Long"}', `${place}: contains the property name "_bsontype", which cannot be stored`],
    ['{"a":{"b\\u0000":1}}', `${place}.a: contains the property name "b\\u0000", which cannot be stored`],
    ['{"a":"\\udc00"}', `${place}.a: contains half of a surrogate pair`],
    ['1e400', `${place}: contains a number beyond ±1.8e308`],
    ['9007199254740993', `${place}: contains an integer beyond ±9007199254740991 that would lose digits`],
    ['{"a":-9007199254740993}', `${place}.a: contains an integer beyond ±9007199254740991 that would lose digits`],
    ['[9007199254740992,-9007199254740991,1e300,0.1]', undefined],
    ['{"a":[-1e400]}', `${place}.a: contains a number beyond ±1.8e308`],
    [`{"a":"😀","b":[null,true,${'['.repeat(90)}${']'.repeat(90)}]}`, undefined],
  ] as const) {
    t.equal((await read(t, withAttachment(attachment), 'dispatches'))[0]?.error, error)
  }
})

t.test('a file of more lines than ids can be remembered is refused, with what to do', async (t) => {
  const file = fileWith(t, `${line()}\n\n${line({ _id: 'second' })}\n`)
  const count = async (maxLines: number) => {
    let lines = 0
    for await (const { error } of readLines(file, collections.entries.schema, organisation, maxLines)) {
      t.equal(error, undefined)
      lines += 1
    }
    return lines
  }
  t.equal(await count(3), 2)
  await t.rejects(count(2), { message: `${file} has more than 2 lines: split it` })
})

t.test('bytes that are not UTF-8 are an error of their line only', async (t) => {
  const text = Buffer.concat([Buffer.from(line()), Buffer.of(10, 0xed, 0xa0, 0x80, 10), Buffer.from('[]')])
  t.same(
    (await read(t, text)).map(({ error }) => error),
    [undefined, 'is not valid UTF-8', 'is not a JSON object'],
  )
  t.match(await read(t, Buffer.from([0x7b, 0xff, 0x7d])), [{ number: 1, error: 'is not valid UTF-8' }])
})

t.test(
  'a line may be longer than any string can be, and the lines after it are still read',
  { skip: leftToGate },
  async (t) => {
    const path = fileWith(t, `${line()}\n`)
    const file = await open(path, 'r+')
    // The gap reads as zeros and takes no space on the disk.
    await file.write('\n[]\n', 540_000_000)
    await file.close()
    t.same(
      (await readFile(path)).map(({ number, error }) => [number, error]),
      [
        [1, undefined],
        [2, 'is longer than 2 MiB'],
        [3, 'is not a JSON object'],
      ],
    )
  },
)

t.test('a damaged line has an error, or a document that can be stored and served', async (t) => {
  const file = fileWith(t, '')
  const { store, get } = await testApp(t)
  const accepted = new Set<unknown>()
  const replaced = fc
    .tuple(fc.constantFrom(...Object.keys(entry)), fc.jsonValue())
    .map(([field, value]) => Buffer.from(line({ [field]: value })))
  await fc.assert(
    fc.asyncProperty(fc.oneof(damagedText(line()), replaced), async (bytes) => {
      await writeFile(file, Buffer.concat([bytes, Buffer.from(`\n${line({ _id: 'behind' })}`)]))
      const lines = await readFile(file)
      t.match(lines.pop()?.document, { _id: 'behind' })
      for (const { document, error } of lines) {
        t.equal(document === undefined, error !== undefined)
        if (document === undefined) continue
        accepted.add(document._id)
        await store.upsert('entries', [document as never])
      }
    }),
    { numRuns: runs(60, 200), examples: [[Buffer.from(line())]] },
  )
  t.ok(accepted.size > 0)
  const { data } = (await get('/v1/entries?perPage=1000', organisation)).json()
  t.same(new Set(data.map(({ id }: { id: string }) => id)), accepted)
})
