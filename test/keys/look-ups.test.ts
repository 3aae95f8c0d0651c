// The look-ups of keys: shared, and no more than a few at once.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { lookUpsBy } from '../../src/keys/look-ups.js'
import { QueryTimeout, StoreUnavailable } from '../../src/store/store.js'

/** Look-ups that end when they are told to. */
const held = () => {
  const underWay = new Map<string, { end(): void; fail(error: unknown): void }>()
  const asked: string[] = []
  let most = 0
  const lookUp = lookUpsBy(
    (id: string) =>
      new Promise<string>((resolve, reject) => {
        asked.push(id)
        const ended = (end: () => void) => () => {
          underWay.delete(id)
          end()
        }
        underWay.set(id, { end: ended(() => resolve(`found ${id}`)), fail: (error) => ended(() => reject(error))() })
        most = Math.max(most, underWay.size)
      }),
  )
  /** Ends one round of look-ups after the other, until none is left. */
  const endAll = async () => {
    await setImmediate()
    while (underWay.size > 0) {
      for (const { end } of underWay.values()) end()
      await setImmediate()
    }
  }
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `key${n}`)
  return { lookUp, underWay, endAll, asked, ids, most: () => most }
}

t.test('a limited number runs at once, and the others come in turn', async (t) => {
  const { lookUp, endAll, ids, most } = held()
  const found = Promise.all(ids(200).map((id) => lookUp(id, false)))
  await endAll()
  t.same(
    await found,
    ids(200).map((id) => `found ${id}`),
  )
  t.equal(most(), 32)
  const again = lookUp('later', false)
  await endAll()
  t.equal(await again, 'found later', 'and afterwards there is room again')
})

t.test('one look-up serves all who ask for the key meanwhile', async (t) => {
  const { lookUp, endAll, asked } = held()
  const all = Promise.all([lookUp('a', false), lookUp('a', true), lookUp('a', false)])
  await endAll()
  t.same(await all, ['found a', 'found a', 'found a'])
  t.same(asked, ['a'])
  const next = lookUp('a', false)
  await endAll()
  t.equal(await next, 'found a')
  t.same(asked, ['a', 'a'], 'and none who asks later')
})

t.test('when too many wait the next is told to come later, unless its key was verified before', async (t) => {
  const { lookUp, underWay, endAll, ids } = held()
  const found = Promise.all(ids(1032).map((id) => lookUp(id, false)))
  await t.rejects(lookUp('late', false), StoreUnavailable)
  const known = lookUp('known', true)
  underWay.get('known')?.end()
  t.equal(await known, 'found known')
  await endAll()
  t.equal((await found).length, 1032)
})

t.test('an outage that one look-up meets is told to all who wait, another failure to nobody else', async (t) => {
  for (const [error, shared] of [
    [new StoreUnavailable(new Error('gone')), true],
    [new QueryTimeout(new Error('slow')), true],
    [new Error('odd'), false],
  ] as const) {
    const { lookUp, underWay, endAll, ids } = held()
    const results = Promise.allSettled(ids(40).map((id) => lookUp(id, false)))
    await setImmediate()
    underWay.get('key0')?.fail(error)
    await endAll()
    const failed = (await results).filter((result) => result.status === 'rejected')
    t.equal(failed.length, shared ? 9 : 1, String(error))
    t.ok(failed.every(({ reason }) => reason === error))
  }
})
