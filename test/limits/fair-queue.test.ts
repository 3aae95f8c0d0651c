// How many tasks run at once, in all and for each key, in which order keys take turns, and what ends a wait.
import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { FairQueue, type Limits } from '../../src/limits/fair-queue.js'
import { Overloaded } from '../../src/limits/overloaded.js'

/** A queue with the tasks that have begun, by their names. The first letter of a name is the key. */
const queueOf = (atOnce: number, atOncePerKey: number, more: Partial<Limits> = {}) => {
  const limit = { perKey: atOncePerKey }
  const queue = new FairQueue({ atOnce, atOncePerKey: () => limit.perKey, waitMs: 1000, refusal: 'Busy', ...more })
  const begun: string[] = []
  const leaves = new Map<string, () => void>()
  const enter = async (name: string, signal?: AbortSignal): Promise<void> => {
    const leave = await queue.enter(name[0] as string, signal)
    leaves.set(name, leave)
    begun.push(name)
  }
  const enterAll = async (...names: string[]) => {
    // Those that still wait at the end of a test are refused then.
    for (const name of names) enter(name).catch(() => {})
    await setImmediate()
  }
  const leave = async (name: string) => {
    leaves.get(name)?.()
    await setImmediate()
  }
  return { queue, begun, enter, enterAll, leave, limit }
}

t.test('a key starts as many tasks as it may at once, and the others as those end', async (t) => {
  const { begun, enterAll, leave } = queueOf(10, 2)
  await enterAll('a1', 'a2', 'a3', 'a4')
  t.same(begun, ['a1', 'a2'])
  await leave('a1')
  await leave('a1')
  t.same(begun, ['a1', 'a2', 'a3'], 'a task ends only once')
})

t.test('it knows how many tasks run and wait, and tells how long each has waited, also one that leaves', async (t) => {
  const waited: number[] = []
  const { queue, enter, enterAll, leave } = queueOf(2, 1, { onWaited: (ms) => waited.push(ms) })
  const gone = new AbortController()
  await enterAll('a1', 'a2', 'b1', 'c1')
  const left = enter('c2', gone.signal)
  t.same([queue.running, queue.waiting], [2, 3])
  gone.abort(new Error('gone'))
  await t.rejects(left, { message: 'gone' })
  await leave('a1')
  t.same([queue.running, queue.waiting], [2, 1])
  t.equal(waited.length, 2)
  for (const ms of waited) t.ok(ms >= 0 && ms < 1000)
})

t.test('keys that wait take turns, however many tasks one of them has', async (t) => {
  const { begun, enterAll, leave } = queueOf(2, 2)
  await enterAll('a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1')
  for (const name of ['a1', 'a2', 'a3']) await leave(name)
  t.same(begun, ['a1', 'a2', 'a3', 'b1', 'c1'])
  await leave('b1')
  t.same(begun.slice(5), ['a4'])
  await leave('c1')
  t.same(begun.slice(6), ['b2'])
})

t.test('a key at its limit does not block others', async (t) => {
  const { begun, enterAll, leave } = queueOf(3, 1)
  await enterAll('a1', 'a2', 'b1', 'b2', 'c1')
  t.same(begun, ['a1', 'b1', 'c1'])
  await leave('b1')
  t.same(begun.slice(3), ['b2'])
})

t.test('a task whose signal aborts does not start, and its key may wait again', async (t) => {
  const { begun, enter, enterAll, leave } = queueOf(1, 1)
  await enterAll('a1')
  const gone = new AbortController()
  const waiting = [enter('a2', gone.signal), enter('b1', gone.signal)]
  await enterAll('b2')
  gone.abort(new Error('gone'))
  for (const wait of waiting) await t.rejects(wait, { message: 'gone' })
  await t.rejects(enter('c1', gone.signal), { message: 'gone' }, 'also if it aborted before')
  await leave('a1')
  t.same(begun, ['a1', 'b2'])
  await enterAll('a3')
  await leave('b2')
  t.same(begun, ['a1', 'b2', 'a3'])
})

t.test('a task that waits too long, or behind too many of its key, is refused', async (t) => {
  const { begun, enter, enterAll, leave } = queueOf(1, 1, { waitMs: 20, waitingPerKey: 2 })
  await enterAll('a1')
  const late = [enter('a2'), enter('a3')]
  await t.rejects(enter('a4'), new Overloaded('Busy'))
  for (const wait of late) await t.rejects(wait, new Overloaded('Busy'))
  await leave('a1')
  await enterAll('a5')
  t.same(begun, ['a1', 'a5'])
})

t.test('all tasks that wait can be failed, and those that run go on', async (t) => {
  const { queue, begun, enter, enterAll, leave } = queueOf(1, 1)
  await enterAll('a1')
  const waiting = [enter('a2'), enter('a3'), enter('b1')]
  queue.failAll(new Error('down'))
  for (const wait of waiting) await t.rejects(wait, { message: 'down' })
  await enterAll('b2')
  await leave('a1')
  t.same(begun, ['a1', 'b2'])
})

t.test('when the limit of a key rises, all tasks within it start', async (t) => {
  const { begun, enterAll, leave, limit } = queueOf(10, 1)
  await enterAll('a1', 'a2', 'a3', 'a4')
  limit.perKey = 2
  await leave('a1')
  t.same(begun, ['a1', 'a2', 'a3'])
})

t.test('the wait of a key is that of its first task that waits', async (t) => {
  const { queue, enterAll, leave } = queueOf(1, 1)
  await enterAll('a1')
  t.equal(queue.waitOf('a'), 0)
  await enterAll('a2')
  await setTimeout(20)
  t.ok(queue.waitOf('a') > 15)
  t.equal(queue.waitOf('b'), 0)
  await leave('a1')
  t.equal(queue.waitOf('a'), 0)
})
