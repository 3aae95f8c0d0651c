// The extent of the entries: of right values alone, kept as totals are, and left out where it takes too long.
import t, { type Test } from 'tap'
import { Overloaded } from '../../src/core/limits/scheduler.js'
import { Reader } from '../../src/core/read/reader.js'
import { withCache } from '../../src/core/store/cache.js'
import { QueryTimeout, type Store } from '../../src/core/store/store.js'
import { extentOf } from '../../src/maps/extent.js'
import { testStore } from '../support/store.js'
import { A, a, b } from '../support/tenants.js'
import { oneAtATime, testReader, testTicket } from '../support/tickets.js'

const scope = { organisation: A }
const at = (longitude: unknown, lattitude: unknown) => ({ coordinates: { longitude, lattitude } }) as never
const extent = async (store: Store) => extentOf(await testReader(store, scope))

/** The extent of entries with these places and times. */
const extentWith = async (t: Test, entries: readonly object[]) => {
  const store = testStore(t)
  await store.insert('entries', [b.entry(1, { location: at(99, 9) })])
  const documents = entries.map((changes, n) => ({ ...a.entry(n), location: at(null, null), ...changes }))
  if (documents.length > 0) await store.insert('entries', documents)
  return extent(store)
}

t.test('it is the box around all places, and has the first and the last time', async (t) => {
  const times = ['2024-02-29T23:59:59.999Z', '2025-01-01T00:00:00.000Z'] as const
  const [first, last] = times.map((time) => new Date(time))
  t.same(
    await extentWith(t, [
      { createdAt: last, location: at(-10.5, 4) },
      { createdAt: first, location: at(3, 5.25) },
      { createdAt: last, location: undefined },
    ]),
    { spatial: { bbox: [[-10.5, 4, 3, 5.25]] }, temporal: { interval: [times] } },
  )
  t.equal(await extentWith(t, []), undefined, 'there are no entries')
})

t.test('a value that does not fit is no part of it', async (t) => {
  const places = [
    ['east', 5],
    [181, 5],
    [8, -91],
    [Number.NaN, 5],
    [8, Number.POSITIVE_INFINITY],
    [[1, 2], 5],
    [8, null],
  ]
  const wrong = [
    ...places.map(([longitude, lattitude]) => ({ location: at(longitude, lattitude) })),
    ...[[], 'Kano', { coordinates: [8, 9] }].map((location) => ({ location })),
    ...['2020', null, new Date(-1e15), 5].map((createdAt) => ({ createdAt })),
    { organisation: [A, 'another'], location: at(60, 60), createdAt: new Date(0) },
  ]
  const { createdAt } = a.entry(1)
  const temporal = { interval: [[createdAt.toISOString(), createdAt.toISOString()]] }
  t.same(await extentWith(t, wrong), { temporal })
  t.same(await extentWith(t, [...wrong, { location: at(8, 9) }]), { spatial: { bbox: [[8, 9, 8, 9]] }, temporal })
  t.same(await extentWith(t, [{ createdAt: '2020' }]), {})
})

t.test('it is left out where it takes too long, which is kept, and any other error stays', async (t) => {
  for (const [error, isLeftOut] of [
    [new QueryTimeout(undefined), true],
    [new Overloaded(), true],
    [new Error('broken'), false],
  ] as const) {
    const store = { ...testStore(t), aggregate: () => Promise.reject(error) }
    if (isLeftOut) t.equal(await extent(store), undefined)
    else await t.rejects(extent(store), error)
  }
  let reads = 0
  const aggregate: Store['aggregate'] = async () => {
    reads += 1
    throw new QueryTimeout(undefined)
  }
  const kept = withCache({ ...testStore(t), aggregate }, 1000, () => 50 * reads)
  for (const scheduler of [oneAtATime(), oneAtATime()])
    await extentOf(new Reader(kept, scope, await testTicket(scheduler)))
  t.equal(reads, 1)
  const ticket = await testTicket()
  ticket.large = () => Promise.reject(new Overloaded())
  ticket.shared = () => ticket
  const other = withCache({ ...testStore(t), aggregate }, 1000)
  t.equal(await extentOf(new Reader(other, scope, ticket)), undefined, 'no turn came')
})
