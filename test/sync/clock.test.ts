// The clock of the database, as requests of one process share it.
import t from 'tap'
import { databaseClock } from '../../src/sync/clock.js'

/** A clock over a database whose replies the test gives, by their number. */
const prepare = (replies: readonly (number | Error)[]) => {
  let reads = 0
  let time = 0
  const store = {
    now: async () => {
      const reply = replies[reads++] as number | Error
      if (reply instanceof Error) throw reply
      return new Date(reply)
    },
  }
  const clock = databaseClock(store, 1000, () => time)
  return {
    clock,
    reads: () => reads,
    pass: (ms: number) => {
      time += ms
    },
  }
}

t.test('requests share one reading for its age, then it is read again', async (t) => {
  const { clock, reads, pass } = prepare([5000, 6500])
  t.same(await Promise.all([clock(), clock()]), [5000, 5000])
  pass(999)
  t.equal(await clock(), 5000)
  t.equal(reads(), 1)
  pass(1)
  t.equal(await clock(), 6500)
  t.equal(reads(), 2)
})

t.test('the clock never goes back', async (t) => {
  const { clock, pass } = prepare([5000, 4000, 5001])
  const seen = []
  for (let i = 0; i < 3; i++) {
    seen.push(await clock())
    pass(1000)
  }
  t.same(seen, [5000, 5000, 5001])
})

t.test('a failure reaches those who share it, and the next request reads again', async (t) => {
  const { clock } = prepare([new Error('gone'), 5000])
  const shared = [clock(), clock()]
  for (const one of shared) await t.rejects(one, { message: 'gone' })
  t.equal(await clock(), 5000)
})
