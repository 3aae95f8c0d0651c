// Damaged bytes: for any stored bytes the writer returns valid JSON or throws an UnreadableDocument. It reads only these
// bytes, and the next write works.
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { Dispatch } from '../../../schemas/dispatches.js'
import { EntryListItem } from '../../../schemas/entries.js'
import { listed } from '../../../schemas/kit.js'
import { demoOptions, seedData } from '../../../seed/index.js'
import { BsonDocument } from '../../../src/core/bson/reader.js'
import { UnreadableDocument } from '../../../src/core/write/errors.js'
import { damages } from '../../support/damages.js'
import { documentOf, type Elements, plain, stored, writerOf } from '../../support/stored.js'
import { isThorough, leftToGate, runs } from '../../support/thorough.js'

interface Sample {
  write: ReturnType<typeof writerOf>['document']
  documents: readonly Buffer[]
}

const sample = (schema: TSchema, documents: readonly Elements[]): Sample => ({
  write: writerOf(schema).document,
  documents: documents.map((elements) => documentOf(elements).bytes),
})

const dated = { createdAt: new Date(0), updatedAt: new Date(1_741_944_413_589) }
const person = { _id: 'u', status: 'active', firstName: 'é', lastName: '"', location: [{ city: 'Kano' }], ...dated }

/** A document of every BSON type. */
const anything: Elements = [
  ['_id', new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17')],
  ['double', 1.5],
  ['string', 'x"€\n'],
  ['array', [1, [2n, { a: null }]]],
  ['boolean', true],
  ['date', new Date(1_741_944_413_589)],
  [
    'skipped',
    stored.document([
      ['a', new BSON.Binary(Buffer.from('abc'))],
      ['b', /a/i],
      ['c', new BSON.Code('f', {})],
    ]),
  ],
  [
    'also',
    [new BSON.Timestamp({ t: 1, i: 2 }), new BSON.Decimal128('1'), stored.minKey, stored.symbol, stored.dbPointer],
  ],
  ['int64', -5n],
]
const { skipped, also, ...taken } = Object.fromEntries(anything.map(([name]) => [name, Type.Unknown()]))

const small = [
  sample(Type.Object(taken), [anything]),
  sample(Type.Unknown(), [plain({ _id: 'a', b: { c: [{ d: 'é' }, [], {}] } }), []]),
  sample(Type.Object({ id: Type.String(), a: Type.Array(Type.Object({ b: Type.Optional(Type.Number()) })) }), [
    plain({ _id: 'one', a: [{ b: 1 }, { c: 'x' }, {}] }),
    plain({ a: [], b: null, _id: 'two' }),
  ]),
  sample(Type.Object({ a: listed({}), b: listed({}), c: listed({}) }), [
    plain({ a: ['é', 1, 2.5], b: 'x', c: 7n }),
    plain({ a: [], b: -1, c: new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17') }),
  ]),
  sample(Dispatch, [
    plain({
      _id: 'd',
      ...{
        instructions: { attachments: ['a', { b: [1] }] },
        recipients: { agents: [person], agentGroups: [{ _id: 'g' }] },
      },
      ...{ dispatchType: 'basic', status: 'draft', name: 'D', startDate: null, createdBy: person, ...dated },
    }),
  ]),
]

const entries = [...seedData({ ...demoOptions, organisations: 1, dispatches: 3, entries: 6 })].flatMap((batch) =>
  batch.collection === 'entries' ? batch.documents : [],
)
const samples = [...small, sample(EntryListItem, entries.map(plain))]

/** The text that is written, or the message of an UnreadableDocument. Any other error fails the test. */
const outcome = (write: () => Buffer): string => {
  let text: string
  try {
    text = write().toString()
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error
    return error.message
  }
  JSON.parse(text)
  return text
}

/** The result for bytes. */
const resultOf = ({ write }: Sample, bytes: Buffer): string => outcome(() => write(new BsonDocument('things', bytes)))

const control = sample(Type.Object({ a: Type.String() }), [plain({ a: 'é"' })])
const neighbour = control.documents[0] as Buffer

/** Writes damaged bytes at different places of memory, and valid bytes after them. */
const endure = (one: Sample, bytes: Buffer, neighbours: Buffer): void => {
  const alone = resultOf(one, bytes)
  const pool = Buffer.concat([neighbours, bytes, neighbours])
  const within = resultOf(one, pool.subarray(neighbours.length, neighbours.length + bytes.length))
  if (alone !== within) throw new Error(`Alone: ${alone}; between others: ${within}`)
  const after = resultOf(control, neighbour)
  if (after !== '{"a":"é\\""}') throw new Error(`Afterwards came ${after}`)
}

const neighbourhoods = fc.constantFrom(
  Buffer.alloc(0),
  Buffer.alloc(64),
  Buffer.alloc(64, 0xff),
  Buffer.from('another organisation’s data'),
  neighbour,
)

/** Corrects the length at the beginning, so that the damage is found further inside. */
const relength = (bytes: Buffer): Buffer => {
  if (bytes.length >= 4) bytes.writeInt32LE(bytes.length)
  return bytes
}

const RUNS = runs(150, 5000)

t.test('The samples are valid before they are damaged', async (t) => {
  for (const one of samples) for (const bytes of one.documents) t.match(resultOf(one, bytes), /^\{/)
})

t.test('Any damage to the bytes gives valid JSON or an UnreadableDocument', async (t) => {
  let count = 0
  fc.assert(
    fc.property(
      fc.record({
        number: fc.nat(samples.length - 1),
        document: fc.nat(),
        damage: fc.array(damages, { minLength: 1, maxLength: 4 }),
        repaired: fc.boolean(),
        neighbours: neighbourhoods,
      }),
      ({ number, document, damage, repaired, neighbours }) => {
        const one = samples[number] as Sample
        const damaged = damage.reduce(
          (bytes, { apply }) => apply(bytes),
          one.documents[document % one.documents.length] as Buffer,
        )
        endure(one, repaired ? relength(damaged) : damaged, neighbours)
        count += 1
      },
    ),
    { numRuns: RUNS },
  )
  t.equal(count, RUNS)
})

t.test('A change of any single byte gives valid JSON or an UnreadableDocument', async (t) => {
  let count = 0
  const values = isThorough ? [0, 1, 2, 3, 4, 5, 9, 10, 0x22, 0x80, 0xff] : [0, 4, 0xff]
  for (const one of small) {
    for (const bytes of one.documents) {
      for (let at = 0; at < bytes.length; at++) {
        const copy = Buffer.from(bytes)
        for (const value of values) {
          copy[at] = value
          resultOf(one, copy)
          count += 1
        }
      }
    }
  }
  t.ok(count > runs(3000, 10_000), `${count} mutations`)
})

t.test(
  'A cut at any byte, or the loss of any byte, gives valid JSON or an UnreadableDocument',
  { skip: leftToGate },
  async (t) => {
    for (const one of small) {
      for (const bytes of one.documents) {
        for (let at = 0; at < bytes.length; at++) {
          endure(one, bytes.subarray(0, at), neighbour)
          endure(one, relength(Buffer.from(bytes.subarray(0, at))), neighbour)
          endure(one, Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]), Buffer.alloc(64))
          endure(one, relength(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])), Buffer.alloc(64))
        }
      }
    }
    t.pass()
  },
)

t.test('Random bytes give valid JSON or an UnreadableDocument', async (t) => {
  fc.assert(
    fc.property(fc.nat(samples.length - 1), fc.uint8Array({ maxLength: 60 }), fc.boolean(), (number, noise, framed) => {
      const bytes = Buffer.from(noise)
      if (framed && bytes.length > 0) bytes[bytes.length - 1] = 0
      endure(samples[number] as Sample, framed ? relength(bytes) : bytes, neighbour)
    }),
    { numRuns: RUNS },
  )
  t.pass()
})
