// Single values of documents, whatever their types are.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { DamagedBson } from '../../../src/core/bson/reader.js'
import {
  dateOf,
  fieldOf,
  integerOf,
  lastFieldOf,
  numberIn,
  numberOfWords,
  ownText,
  stringOf,
} from '../../../src/core/bson/values.js'
import { NO_NUMBERS, NUMBERS } from '../../support/numbers.js'
import { documentOf, stored } from '../../support/stored.js'
import { leftToGate } from '../../support/thorough.js'

const { bytes } = documentOf([
  ['text', 'Kanọ'],
  ['date', new Date(-5)],
  ['int32', -7],
  ['int64', stored.int64(2n ** 60n)],
  ['double', 2 ** 60],
  ['flag', true],
])
const field = (name: string) => fieldOf(bytes, 0, name)

t.test('a string and a date are read, and any other value is undefined', async (t) => {
  t.equal(stringOf(bytes, field('text')), 'Kanọ')
  t.equal(dateOf(bytes, field('date')), -5)
  for (const name of ['date', 'flag', 'nothing']) t.equal(stringOf(bytes, field(name)), undefined, name)
  for (const name of ['text', 'int64', 'nothing']) t.equal(dateOf(bytes, field(name)), undefined, name)
})

t.test('a whole number is read exactly from each type of number', async (t) => {
  const integer = (name: string) => integerOf(bytes, field(name) as NonNullable<ReturnType<typeof field>>)
  t.equal(integer('int32'), -7n)
  t.equal(integer('int64'), 2n ** 60n)
  t.equal(integer('double'), 2n ** 60n)
  t.throws(() => integer('flag'), DamagedBson)
})

t.test('of several elements with a name the first or the last is found', async (t) => {
  const { bytes } = documentOf([
    ['name', 'first'],
    ['names', 'other'],
    ['name', 'last'],
    ['other', 5],
  ])
  t.equal(stringOf(bytes, fieldOf(bytes, 0, 'name')), 'first')
  t.equal(stringOf(bytes, lastFieldOf(bytes, 0, 'name')), 'last')
  for (const find of [fieldOf, lastFieldOf]) t.equal(find(bytes, 0, 'nothing'), undefined)
})

t.test('A part of a text that has memory of its own does not keep the whole text', { skip: leftToGate }, async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  const whole = Buffer.alloc(200_000, 'Kanọ ')
  const parts = Array.from({ length: 100 }, () => ownText(whole.toString().slice(0, 200)))
  collect()
  t.ok(process.memoryUsage().heapUsed - before < 5_000_000, 'the texts have 20 MB')
  t.same(new Set(parts), new Set(['Kanọ '.repeat(40)]))
})

t.test('A number is digits, with a minus, a point between them, an exponent and spaces around or not', async (t) => {
  const wrong = [
    ...Object.entries(NUMBERS).filter(([text, number]) => numberIn(text) !== number),
    ...NO_NUMBERS.filter((text) => numberIn(text) !== undefined),
  ]
  t.same(wrong, [])
  t.same([['5'], ['', '5', undefined], ['5', '6'], ['5', 'a'], [], ['']].map(numberOfWords), [5, 5, ...Array(4)])
})
