// How keys are looked up: together where possible, and only a limited number at once.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { limitedLookUp } from '../../src/keys/look-ups.js'
import { Overloaded } from '../../src/limits/overloaded.js'
import { QueryTimeout, StoreUnavailable } from '../../src/store/store.js'

/** Look-ups that end when the test says so. */
const prepare = () => {
  const running = new Map<string, { end(): void; fail(error: unknown): void }>()
  const asked: string[] = []
  let most = 0
  const lookUp = limitedLookUp(
    (id: string) =>
      new Promise<string>((resolve, reject) => {
        asked.push(id)
        const ended = (end: () => void) => () => {
          running.delete(id)
          end()
        }
        running.set(id, { end: ended(() => resolve(`found ${id}`)), fail: (error) => ended(() => reject(error))() })
        most = Math.max(most, running.size)
      }),
    128,
  )
  /** Ends all running look-ups, then those that started in their place, until none is left. */
  const endAll = async () => {
    await setImmediate()
    while (running.size > 0) {
      for (const { end } of running.values()) end()
      await setImmediate()
    }
  }
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `key${n}`)
  return { lookUp, running, endAll, asked, ids, most: () => most }
}

t.test('a limited number of look-ups runs at once, and the others wait for their turn', async (t) => {
  const { lookUp, endAll, ids, most } = prepare()
  const found = Promise.all(ids(200).map((id) => lookUp(id, id.endsWith('7') ? 'x' : 'y')))
  await endAll()
  t.same(
    await found,
    ids(200).map((id) => `found ${id}`),
  )
  t.equal(most(), 32)
  const again = lookUp('later', 'x')
  await endAll()
  t.equal(await again, 'found later', 'later look-ups start at once again')
})

t.test('requests with the same key share one look-up while it is running', async (t) => {
  const { lookUp, endAll, asked } = prepare()
  const all = Promise.all([lookUp('a', 'x'), lookUp('a', 'x'), lookUp('a', 'x')])
  await endAll()
  t.same(await all, ['found a', 'found a', 'found a'])
  t.same(asked, ['a'])
  const next = lookUp('a', 'x')
  await endAll()
  t.equal(await next, 'found a')
  t.same(asked, ['a', 'a'], 'a later request starts a new one')
})

t.test('when too many look-ups from an address wait, its next one is refused, and nobody else notices', async (t) => {
  const { lookUp, running, endAll, ids } = prepare()
  const found = Promise.all(ids(1016).map((id) => lookUp(id, 'flood')))
  await t.rejects(lookUp('late', 'flood'), new Overloaded('Too many keys are being looked up'))
  for (const [id, address] of [
    ['known', undefined],
    ['free', 'other'],
    ['new', 'another'],
  ] as const) {
    const other = lookUp(id, address)
    await setImmediate()
    running.get(id)?.end()
    t.equal(await other, `found ${id}`, 'it waits behind none of them')
  }
  await endAll()
  t.equal((await found).length, 1016)
})

t.test('an outage fails all look-ups that are waiting, and any other error only its own', async (t) => {
  for (const [error, shared] of [
    [new StoreUnavailable(new Error('gone')), true],
    [new QueryTimeout(new Error('slow')), true],
    [new Error('odd'), false],
  ] as const) {
    const { lookUp, running, endAll, ids } = prepare()
    const results = Promise.allSettled(ids(40).map((id) => lookUp(id, 'x')))
    await setImmediate()
    running.get('key0')?.fail(error)
    await endAll()
    const failed = (await results).filter((result) => result.status === 'rejected')
    t.equal(failed.length, shared ? 25 : 1, String(error))
    t.ok(failed.every(({ reason }) => reason === error))
  }
})
