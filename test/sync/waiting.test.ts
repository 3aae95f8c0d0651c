// Requests that wait for changes: how many look-ups they cost, and what ends them.
import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { Waiting } from '../../src/sync/waiting.js'

/** A feed whose newest stamp the test sets. */
const prepare = (limits: Partial<Waiting['limits']> = {}) => {
  const waiting = new Waiting({ max: 1000, maxPerKey: 100, intervalMs: 5, ...limits })
  const feed = { newest: undefined as number | undefined, asked: [] as number[], error: undefined as Error | undefined }
  const lookUp = async (from: number) => {
    feed.asked.push(from)
    if (feed.error) throw feed.error
    return feed.newest
  }
  const caller = new AbortController()
  setMaxListeners(0, caller.signal)
  const wait = (
    from = 10,
    { key = 'key', organisation = 'org', name = 'feed', ms = 10_000, signal = caller.signal } = {},
  ) => waiting.wait({ keyId: key, organisation }, name, lookUp, { from, ms, signal })
  return { waiting, feed, caller, wait }
}

const overloaded = { name: 'Overloaded' }
const owner = { keyId: 'key', organisation: 'org' }

t.test('all that wait for a feed share its look-ups, and end when it has what they lack', async (t) => {
  const { waiting, feed, wait } = prepare()
  const ended: string[] = []
  const waits = [
    ...Array.from({ length: 50 }, () => wait(10)),
    wait(20).then((found) => {
      ended.push('far')
      return found
    }),
  ]
  while (feed.asked.length < 3) await setTimeout(1)
  t.equal(waiting.size, 51)
  t.same(new Set(feed.asked), new Set([10]), 'each look-up is for all of them')
  feed.newest = 10
  t.same(await Promise.all(waits.slice(0, 50)), Array(50).fill(true))
  t.same(ended, [])
  feed.newest = 20
  t.equal(await waits[50], true)
  t.equal(feed.asked.at(-1), 20)
  const after = feed.asked.length
  await setTimeout(20)
  t.equal(feed.asked.length, after, 'a feed for which nobody waits costs nothing')
  feed.newest = 30
  t.equal(await wait(25), true, 'a later request begins again')
})

t.test('a wait ends without a change when its time is over', async (t) => {
  const { feed, wait } = prepare()
  t.equal(await wait(10, { ms: 1 }), false)
  await setTimeout(20)
  t.ok(feed.asked.length <= 1)
})

t.test('a caller who leaves ends its own wait alone', async (t) => {
  const { feed, wait, caller } = prepare()
  const other = wait(10, { signal: new AbortController().signal })
  const left = wait()
  caller.abort(new Error('gone'))
  await t.rejects(left, { message: 'gone' })
  await t.rejects(wait(), { message: 'gone' }, 'also if it left before')
  feed.newest = 10
  t.equal(await other, true)
})

t.test('a look-up that fails ends the waits of its feed, and not those of others', async (t) => {
  const { feed, wait, waiting } = prepare()
  const other = waiting.wait(owner, 'other', async () => (feed.error ? 10 : undefined), {
    from: 10,
    ms: 10_000,
    signal: new AbortController().signal,
  })
  const waits = [wait(), wait()]
  feed.error = new Error('the database is gone')
  for (const one of waits) await t.rejects(one, feed.error)
  t.equal(await other, true)
})

t.test('too many waits of a key are refused, and their places are free again when they end', async (t) => {
  const { feed, wait } = prepare({ maxPerKey: 2 })
  const waits = [wait(), wait()]
  await t.rejects(wait(), overloaded)
  waits.push(wait(10, { key: 'b' }))
  feed.newest = 10
  t.same(await Promise.all(waits), [true, true, true])
  t.same(await Promise.all([wait(), wait(), wait(10, { key: 'b' })]), [true, true, true])
})

t.test('an organisation with many keys leaves places for others, and they for those that come later', async (t) => {
  const { feed, wait } = prepare({ max: 100, maxPerKey: 20 })
  /** Waits with five keys of an organisation until it is refused. Returns how many wait. */
  const fill = async (organisation: string): Promise<number> => {
    const waits = Array.from({ length: 100 }, (_, n) => wait(10, { key: `${organisation}${n % 5}`, organisation }))
    const refused = await Promise.all(waits.map((each) => Promise.race([each.catch(() => 'refused'), setTimeout(1)])))
    return refused.filter((each) => each === undefined).length
  }
  t.same([await fill('a'), await fill('b'), await fill('c')], [50, 25, 13])
  feed.newest = 10
  t.equal(await wait(10, { key: 'd', organisation: 'd' }), true)
})

t.test('closing ends all waits at once, and those that begin afterwards', async (t) => {
  const { feed, wait, waiting } = prepare({ intervalMs: 10_000 })
  const waits = [wait(), wait(10, { key: 'b', name: 'other' })]
  waiting.close()
  t.same(await Promise.all(waits), [false, false])
  t.equal(await wait(), false)
  t.same(feed.asked, [])
})

t.test('many feeds are looked up four at once, and a wait that ends during a look-up is left alone', async (t) => {
  const waiting = new Waiting({ max: 1000, maxPerKey: 1000, intervalMs: 1 })
  let begun = 0
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const caller = new AbortController()
  setMaxListeners(0, caller.signal)
  const lookUp = (fails: boolean) => async () => {
    begun += 1
    await released
    if (fails) throw new Error('late')
    return 10
  }
  const waits = Array.from({ length: 20 }, (_, n) =>
    waiting.wait(owner, `feed ${n}`, lookUp(n % 2 === 0), { from: 10, ms: 10_000, signal: caller.signal }),
  )
  const ended = Promise.allSettled(waits)
  while (begun < 4) await setTimeout(1)
  caller.abort('gone')
  t.same(new Set((await ended).map((wait) => wait.status === 'rejected' && wait.reason)), new Set(['gone']))
  release()
  await setTimeout(20)
  t.equal(begun, 4, 'nobody waits for the other feeds any more')
})
