// Where requests wait for the event loop: who begins when, and who is late.
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Arrival, Entrance, type EntranceOptions, lateRequests } from '../../src/http/entrance.js'

/** An entrance, and what has begun: `a1` is the first request with the credentials `a`, and `a2 late` its second, if that is late. */
const open = (lateMs: number, others: EntranceOptions = {}) => {
  const begun: string[] = []
  const entrance = new Entrance(
    (request) => {
      begun.push(`${request.url}${lateRequests.has(request) ? ' late' : ''}`)
    },
    { lateMs, ...others },
  )
  const enter = (...names: string[]): Arrival[] =>
    names.map((url) => {
      const headers = url.startsWith('-') ? {} : { authorization: url[0] }
      // The parts of a response that an entrance reads.
      const arrival = new Arrival({ req: { url, headers, socket: { destroyed: false } } } as unknown as ServerResponse)
      entrance.enter(arrival)
      return arrival
    })
  return { begun, enter, entrance }
}

t.test('ten requests begin in a turn, and callers with other credentials take turns', async (t) => {
  const { begun, enter } = open(Number.POSITIVE_INFINITY)
  const many = Array.from({ length: 10 }, (_, n) => `a${n}`)
  enter(...many, 'b1', '-')
  await nextTurn()
  t.same(begun, ['a0', 'b1', '-', ...many.slice(1, 8)])
  await nextTurn()
  t.same(begun.slice(10), ['a8', 'a9'])
  enter('a10')
  await nextTurn()
  t.same(begun.slice(12), ['a10'], 'it goes on after a rest')
})

t.test('while the first of many has waited for too long, the next of its credentials are late', async (t) => {
  const { begun, enter } = open(0)
  const names = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `a${from + n}`)
  enter('b1', ...names(0, 38))
  await nextTurn()
  const late = names(9, 38).map((name) => `${name} late`)
  t.same(begun, [...late.slice(0, 16), 'b1', ...names(0, 9)], 'eight may wait, sixteen that are late begin in a turn')
  await nextTurn()
  t.same(begun.slice(26), late.slice(16))
})

t.test('only what would be refused is late', async (t) => {
  const { begun, enter } = open(0, { refusingPath: 'ab' })
  enter(...Array.from({ length: 10 }, (_, n) => `a${n}`), 'a', 'ab')
  await nextTurn()
  t.equal(begun[0], 'ab late')
  t.notMatch(begun.slice(1).join(), 'late')
})

t.test('urgent ones begin first, a few in a turn, and also while others are held', async (t) => {
  const { begun, enter, entrance } = open(0, { urgentPath: 'u' })
  const urgent = Array.from({ length: 10 }, (_, n) => `u${n}`)
  enter('a0', ...urgent)
  t.equal(entrance.waiting, 11)
  entrance.hold()
  await nextTurn()
  t.same(begun, urgent.slice(0, 4))
  entrance.release()
  await nextTurn()
  t.same(begun, [...urgent.slice(0, 8), 'a0'], 'however many there are, others have their turn')
  await nextTurn()
  t.same(begun.slice(9), urgent.slice(8), 'none is late')
})

t.test('none begins while they are held, and none is late for that', async (t) => {
  const { begun, enter, entrance } = open(0)
  entrance.hold()
  const names = Array.from({ length: 20 }, (_, n) => `a${n}`)
  enter(...names)
  await nextTurn()
  t.same(begun, [])
  entrance.release()
  while (begun.length < names.length) await nextTurn()
  t.same(begun, names)
})

t.test('while connections arrive, only urgent requests begin', async (t) => {
  const { begun, enter, entrance } = open(0, { urgentPath: 'u', connectionsMs: Number.POSITIVE_INFINITY })
  enter('a0')
  await nextTurn()
  for (let turn = 0; turn < 3; turn++) {
    entrance.connectionArrived()
    enter(`a${turn + 1}`, `u${turn}`)
    await nextTurn()
    t.equal(entrance.isForConnections, true)
  }
  t.same(begun, ['a0', 'u0', 'u1', 'u2'])
  await nextTurn()
  t.equal(entrance.isForConnections, false, 'the turn in which none has arrived is for requests')
  t.same(begun.slice(4), ['a1', 'a2', 'a3'])
})

/** How many turns were not for connections after each stretch that was, while connections arrived in every turn. */
const turnsBetween = async (connectionsMs: number, stretches: number): Promise<number[]> => {
  const { entrance } = open(0, { connectionsMs })
  const turns: number[] = []
  for (let wasForConnections = false; turns.length <= stretches; wasForConnections = entrance.isForConnections) {
    entrance.connectionArrived()
    await nextTurn()
    if (!entrance.isForConnections) turns.push((turns.pop() as number) + 1)
    else if (!wasForConnections) turns.push(0)
  }
  return turns.slice(0, stretches)
}

t.test('between two stretches of turns for connections others have several', async (t) => {
  const turns = await turnsBetween(50, 3)
  t.ok(
    turns.some((each) => each > 1),
    `others had ${turns.join(', ')} turns`,
  )
})

t.test('where each turn is long, every second one is for others', async (t) => {
  t.same(await turnsBetween(1e-6, 3), [1, 1, 1])
})

t.test('a request whose caller has left is forgotten', async (t) => {
  const { begun, enter, entrance } = open(0, { urgentPath: 'u' })
  const arrivals = enter('a0', 'u0', ...Array.from({ length: 9 }, (_, n) => `b${n}`), 'b9')
  t.equal(entrance.waiting, 12)
  for (const arrival of arrivals.filter(({ response: { req } }) => req.url !== 'b3')) entrance.leave(arrival)
  t.equal(entrance.waiting, 1)
  await nextTurn()
  t.same(begun, ['b3'])
})

t.test('who could not begin in the first turn is told how long they waited', async (t) => {
  const waited: number[] = []
  const { begun, enter, entrance } = open(Number.POSITIVE_INFINITY, { onWaited: (ms) => waited.push(ms) })
  enter(...Array.from({ length: 12 }, (_, n) => `a${n}`))
  await nextTurn()
  await nextTurn()
  t.equal(begun.length, 12)
  t.equal(waited.length, 2)
  t.ok(waited.every((ms) => ms > 0 && ms < 60_000))
  const [gone] = enter('gone')
  entrance.leave(gone as Arrival)
  t.equal(waited.length, 3, 'who left has waited too')
  entrance.leave(gone as Arrival)
  t.equal(waited.length, 3)
})
