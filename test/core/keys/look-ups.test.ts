// How keys are looked up: together where possible, and in turns by address.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { sharedLookUp } from '../../../src/core/keys/look-ups.js'
import { FairScheduler } from '../../../src/core/limits/scheduler.js'
import { heapUsed } from '../../support/heap.js'
import { leftToGate } from '../../support/thorough.js'
import { oneAtATime } from '../../support/tickets.js'

/** Look-ups that end when the test says so. Two of an address run at once, and three in all. */
const prepare = () => {
  const running = new Map<string, { end(): void; fail(error: Error): void }>()
  const asked: string[] = []
  const limit = { all: 3, perKey: 2 }
  const memory = { all: 1, partOfLeft: 1 }
  const find = (id: string) =>
    new Promise<string>((resolve, reject) => {
      asked.push(id)
      running.set(id, { end: () => resolve(`found ${id}`), fail: reject })
    })
  const lookUp = sharedLookUp(find, new FairScheduler({ small: limit, large: limit, memory, waitMs: 5000 }))
  /** Ends a look-up, and waits until others have begun in its place. */
  const end = async (id: string) => {
    running.get(id)?.end()
    await setImmediate()
  }
  return { lookUp, running, asked, end }
}

t.test('requests with the same key share one look-up while it is running', async (t) => {
  const { lookUp, asked, end } = prepare()
  const all = Promise.all([lookUp('a', 'x'), lookUp('a', 'x'), lookUp('a', 'x')])
  await setImmediate()
  await end('a')
  t.same(await all, ['found a', 'found a', 'found a'])
  t.same(asked, ['a'])
  const next = lookUp('a', 'x')
  await setImmediate()
  await end('a')
  t.equal(await next, 'found a')
  t.same(asked, ['a', 'a'], 'a later request starts a new one')
})

t.test('a flood from one address waits, and neither others nor keys that are known wait behind it', async (t) => {
  const { lookUp, asked, end } = prepare()
  const found = ['1', '2', '3', '4'].map((id) => lookUp(id, 'flood'))
  for (const [id, address] of [
    ['known', undefined],
    ['1', 'other'],
  ] as const) {
    const other = lookUp(id, address)
    await setImmediate()
    await end(id)
    t.equal(await other, `found ${id}`)
  }
  t.same(asked, ['known', '1', '2', '1'])
  for (const id of ['2', '3', '4']) await end(id)
  t.same(await Promise.all(found.slice(1)), ['found 2', 'found 3', 'found 4'])
})

t.test('an error fails its own look-up alone', async (t) => {
  const { lookUp, running, end } = prepare()
  const errors: [string, unknown][] = []
  const all = ['1', '2', '3', '4'].map((id) => lookUp(id, 'x').catch((reason) => errors.push([id, reason])))
  await setImmediate()
  const error = new Error('odd')
  running.get('1')?.fail(error)
  await setImmediate()
  for (const id of ['2', '3', '4']) await end(id)
  await Promise.all(all)
  t.same(errors, [['1', error]])
})

t.test('without a scheduler nobody waits', async (t) => {
  const lookUp = sharedLookUp(async (id: string) => id)
  t.equal(await lookUp('a', 'x'), 'a')
})

t.test('an address that a long header named does not keep the header', { skip: leftToGate }, async (t) => {
  const lookUp = sharedLookUp(async (id: string) => id, oneAtATime())
  const before = heapUsed()
  for (let n = 0; n < 1000; n++) {
    const header = `${Buffer.alloc(15_000, `${n} `)}, 2001:db8:0:1:2:3:4:${n}`
    await lookUp('a', header.slice(15_002))
  }
  t.ok(heapUsed() - before < 5_000_000, 'the headers have 15 MB')
})
