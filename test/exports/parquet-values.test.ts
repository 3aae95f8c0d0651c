// The values of columns: every stored form, and fields that are missing or twice.
import { type TSchema, Type } from '@sinclair/typebox'
import { BSON } from 'mongodb'
import t from 'tap'
import { listed } from '../../schemas/kit.js'
import { Bytes } from '../../src/bson/reader.js'
import { fieldsOf } from '../../src/exports/parquet-columns.js'
import { columnsOf } from '../../src/exports/parquet-values.js'
import { documentOf, type Elements, stored } from '../support/stored.js'

/** The values of the columns for these documents. */
const valuesOf = (properties: Record<string, TSchema>, ...documents: Elements[]) => {
  const { columns, add } = columnsOf(fieldsOf(Type.Object(properties), new Map()))
  for (const document of documents) add(new Bytes(documentOf(document).bytes), 0)
  return Object.fromEntries(columns.map(({ name, values }) => [name, values]))
}

const objectId = new BSON.ObjectId('64d6f2e3a5b4c3001c7d6f51')

t.test('values of each kind', async (t) => {
  const kinds = {
    text: Type.String(),
    number: Type.Number(),
    boolean: Type.Boolean(),
    time: Type.String({ format: 'date-time' }),
  }
  const rows: Elements[] = [
    Object.entries({ text: '', number: 1.5, boolean: true, time: new Date(-1) }),
    Object.entries({ text: objectId, number: -3, boolean: false, time: new Date(0) }),
    Object.entries({ text: '\u{1f600}\0"\u202e\r\n', number: stored.int64(2n ** 53n), boolean: null, time: null }),
    Object.entries({ text: stored.string([0x61, 0xff]), number: stored.undefined }),
  ]
  t.strictSame(valuesOf(kinds, ...rows), {
    text: ['', objectId.toHexString(), '\u{1f600}\0"\u202e\r\n', 'a\ufffd'],
    number: [1.5, -3, 2 ** 53, null],
    boolean: [true, false, null, null],
    time: [-1n, 0n, null, null],
  })
})

t.test('objects become columns, also where one is missing', async (t) => {
  const place = Type.Object({ state: Type.String(), point: Type.Object({ x: Type.Number() }) })
  const state = ['state', 'Kano'] as const
  const point = ['point', stored.document([['x', 1]])] as const
  t.strictSame(
    valuesOf(
      { place },
      [['place', stored.document([state, point])]],
      [['place', stored.document([point, state])]],
      [['place', stored.document([state])]],
      [],
    ),
    { 'place.state': ['Kano', 'Kano', 'Kano', null], 'place.point.x': [1, 1, null, null] },
  )
})

t.test('of fields with the same name the last one counts, whatever its value is', async (t) => {
  const place = Type.Object({ state: Type.String() })
  const document = stored.document([['state', 'Kano']])
  t.strictSame(
    valuesOf(
      { a: Type.String(), place },
      [
        ['a', 'first'],
        ['a', 'last'],
        ['place', document],
        ['place', stored.document([])],
      ],
      [
        ['a', 'first'],
        ['a', null],
        ['place', document],
        ['place', null],
      ],
    ),
    { a: ['last', null], 'place.state': [null, null] },
  )
})

t.test('a name that begins like a field is another', async (t) => {
  t.strictSame(valuesOf({ name: Type.String() }, Object.entries({ names: 'no', nam: 'no', name: 'yes', '': 'no' })), {
    name: ['yes'],
  })
})

t.test('lists', async (t) => {
  const thing = Type.Object({ id: Type.String(), tags: Type.Array(Type.String()) })
  const things = [stored.document(Object.entries({ _id: objectId, tags: ['a', 'b'], other: 1 })), stored.document([])]
  t.strictSame(
    valuesOf(
      { texts: listed({}), things: Type.Array(thing) },
      Object.entries({ texts: ['a', 1, 2.5, objectId, stored.int64(2n ** 62n)], things }),
      Object.entries({ texts: -0.5, things: [] }),
      Object.entries({ texts: [] }),
    ),
    {
      texts: [['a', '1', '2.5', objectId.toHexString(), '4611686018427387904'], ['-0.5'], []],
      things: [
        [
          { id: objectId.toHexString(), tags: ['a', 'b'] },
          { id: null, tags: null },
        ],
        [],
        null,
      ],
    },
  )
})

t.test('a value of any type is JSON with all its members, and of those with the same name the last', async (t) => {
  const members = [
    ['b', ['\u2028"\0', true, false, null, new Date(0), objectId]],
    ['1', 1.5],
    ['b', 2],
    ['a', stored.document([['_id', stored.int64(2n ** 62n)]])],
    ['c', ['\u2028"\0', true, false, null, new Date(0), objectId]],
  ] as const
  t.strictSame(
    valuesOf({ any: Type.Unknown() }, [['any', stored.document(members)]], [['any', 'text']], [['any', null]]),
    {
      any: [
        `{"b":2,"1":1.5,"a":{"_id":4611686018427387904},"c":["\u2028\\"\\u0000",true,false,null,"1970-01-01T00:00:00.000Z","${objectId}"]}`,
        '"text"',
        null,
      ],
    },
  )
})
