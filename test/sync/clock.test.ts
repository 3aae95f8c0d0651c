// The clock of the database, as requests of one process share it.
import t from 'tap'
import { databaseClock } from '../../src/sync/clock.js'

/** A clock over a database whose replies the test gives, by their number. Each takes as long as the test wants. */
const prepare = (replies: readonly (number | Error)[]) => {
  let reads = 0
  let time = 0
  const store = {
    now: async () => {
      const reply = replies[reads++] as number | Error
      if (reply instanceof Error) throw reply
      return { now: reply, majority: reply }
    },
  }
  const clock = databaseClock(store, () => time)
  return {
    read: async () => (await clock()).now,
    reads: () => reads,
    pass: (ms: number) => {
      time += ms
    },
  }
}

t.test('a reading begins after the request, and requests at the same time share one', async (t) => {
  const { read, reads } = prepare([5000, 5000, 5001, 5002])
  t.equal(await read(), 5000)
  t.equal(reads(), 2, 'the first one is taken again, because there is nothing to expect')
  const first = read()
  t.same(await Promise.all([first, read(), read()]), [5001, 5002, 5002])
  t.equal(reads(), 4)
})

t.test('the clock may go back', async (t) => {
  const { read } = prepare([5000, 5000, 4000])
  t.same([await read(), await read()], [5000, 4000])
})

t.test('a reading that is ahead of what is expected is taken again, and the second one counts', async (t) => {
  const { read, pass } = prepare([9000, 5000, 7000, 9002, 7002, 7010, 12_011, 12_012])
  t.equal(await read(), 5000)
  t.equal(await read(), 7000, 'two seconds are not much')
  t.equal(await read(), 7002)
  pass(10)
  t.equal(await read(), 7010)
  t.equal(await read(), 12_012, 'the clock was set')
})

t.test('a failure reaches those who wait behind it, and the next request reads again', async (t) => {
  const { read } = prepare([new Error('gone'), 5000, 5000])
  const shared = [read(), read()]
  for (const one of shared) await t.rejects(one, { message: 'gone' })
  t.equal(await read(), 5000)
})
