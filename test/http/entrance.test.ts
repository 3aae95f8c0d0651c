// Where requests wait for the event loop: who begins when, and who is late.
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Entrance, lateRequests } from '../../src/http/entrance.js'

/** An entrance, and what has begun: `a1` is the first request with the credentials `a`, and `a2 late` its second, if that is late. */
const open = (lateMs: number) => {
  const begun: string[] = []
  const entrance = new Entrance((request) => {
    begun.push(`${request.url}${lateRequests.has(request) ? ' late' : ''}`)
  }, lateMs)
  const enter = (...names: string[]) => {
    for (const url of names) {
      const headers = url.startsWith('-') ? {} : { authorization: url[0] }
      entrance.enter({ req: { url, headers, socket: { destroyed: false } } } as unknown as ServerResponse)
    }
  }
  return { begun, enter, entrance }
}

t.test('four requests begin in a turn, and callers with other credentials take turns', async (t) => {
  const { begun, enter } = open(Number.POSITIVE_INFINITY)
  enter('a1', 'a2', 'a3', 'a4', 'a5', 'b1', '-')
  await nextTurn()
  t.same(begun, ['a1', 'b1', '-', 'a2'])
  await nextTurn()
  t.same(begun.slice(4), ['a3', 'a4', 'a5'])
  enter('a6')
  await nextTurn()
  t.same(begun.slice(7), ['a6'], 'it goes on after a rest')
})

t.test(
  'while the first of some credentials has waited for too long, the next are late and begin besides',
  async (t) => {
    const { begun, enter } = open(0)
    enter('b1', ...Array.from({ length: 21 }, (_, n) => `a${n}`))
    await nextTurn()
    t.same(
      begun,
      [...Array.from({ length: 16 }, (_, n) => `a${n + 1} late`), 'b1', 'a0'],
      'no more than sixteen in a turn, and others are not late',
    )
    await nextTurn()
    t.same(begun.slice(18), ['a17 late', 'a18 late', 'a19 late', 'a20 late'])
  },
)

t.test('none begins while they are held, and none is late for that', async (t) => {
  const { begun, enter, entrance } = open(0)
  entrance.hold()
  enter('a1', 'a2')
  await nextTurn()
  t.same(begun, [])
  entrance.release()
  await nextTurn()
  t.same(begun, ['a1', 'a2'])
})
