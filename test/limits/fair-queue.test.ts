// How many tasks run at once, in all and for each key, and in which order keys take turns.
import t from 'tap'
import { FairQueue } from '../../src/limits/fair-queue.js'

const queueOf = (atOnce: number, atOncePerKey: number) => {
  const limit = { perKey: atOncePerKey }
  const queue = new FairQueue({ atOnce, atOncePerKey: () => limit.perKey })
  const begun: string[] = []
  const enter = (name: string): (() => void) => {
    const begin = () => {
      begun.push(name)
    }
    queue.enter(name[0] as string, begin)
    return begin
  }
  return { queue, begun, enter, limit }
}

t.test('a key starts as many tasks as it may at once, and the others as those end', async (t) => {
  const { queue, begun, enter } = queueOf(10, 2)
  for (const name of ['a1', 'a2', 'a3', 'a4']) enter(name)
  t.same(begun, ['a1', 'a2'])
  queue.leave('a')
  t.same(begun, ['a1', 'a2', 'a3'])
})

t.test('keys that wait take turns, however many tasks one of them has', async (t) => {
  const { queue, begun, enter } = queueOf(2, 2)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1']) enter(name)
  for (let i = 0; i < 3; i++) queue.leave('a')
  t.same(begun, ['a1', 'a2', 'a3', 'b1', 'c1'])
  queue.leave('b')
  t.same(begun.slice(5), ['a4'])
  queue.leave('c')
  t.same(begun.slice(6), ['b2'])
})

t.test('a key at its limit does not block others', async (t) => {
  const { queue, begun, enter } = queueOf(3, 1)
  for (const name of ['a1', 'a2', 'b1', 'b2', 'c1']) enter(name)
  t.same(begun, ['a1', 'b1', 'c1'])
  queue.leave('b')
  t.same(begun.slice(3), ['b2'])
})

t.test('a withdrawn task does not start', async (t) => {
  const { queue, begun, enter } = queueOf(1, 1)
  enter('a1')
  queue.withdraw('a', enter('a2'))
  const second = enter('b1')
  enter('b2')
  queue.withdraw('b', second)
  queue.withdraw('c', second)
  queue.leave('a')
  t.same(begun, ['a1', 'b2'])
})

t.test('when the limit of a key rises, all tasks within it start', async (t) => {
  const { queue, begun, enter, limit } = queueOf(10, 1)
  for (const name of ['a1', 'a2', 'a3', 'a4']) enter(name)
  limit.perKey = 2
  queue.leave('a')
  t.same(begun, ['a1', 'a2', 'a3'])
})
