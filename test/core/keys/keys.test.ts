// API keys: what is stored of them, and how long a verification is cached.
import { randomInt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ApiKeyDocument, Only } from '../../../src/core/documents/collections.js'
import { hashOf, keyIdOf, makeKey, markOf } from '../../../src/core/keys/format.js'
import { type KeyScope, keysOf, type StoredKey } from '../../../src/core/keys/keys.js'
import { FairScheduler } from '../../../src/core/limits/scheduler.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import type { Store } from '../../../src/core/store/store.js'
import { heapUsed } from '../../support/heap.js'
import { testStore, withoutUpdates } from '../../support/store.js'
import { leftToGate } from '../../support/thorough.js'
import { oneAtATime } from '../../support/tickets.js'

/** A store with the organisation `org`. */
const withOrganisation = async (store: Store): Promise<Store> => {
  await store.insert('organisations', [{ _id: 'org', name: 'Org', createdAt: new Date(), updatedAt: new Date() }])
  return store
}

const unknown = { refused: 'unknown' }
const accepted = { organisation: 'org', keyName: String }

const failing = (t: { fail(message: string): unknown }) => (error: unknown) => t.fail(String(error))

t.test('only the hash of a key is stored', async (t) => {
  const store = await withOrganisation(testStore(t))
  const key = await keysOf(store, failing(t)).issue({ organisation: 'org', name: 'Sync' })
  const kept = await store.dangerouslyFind('apiKeys', keyIdOf(key) as string)
  t.match(kept, { organisation: 'org', name: 'Sync', hash: hashOf(key), createdAt: Date })
  t.same(Object.keys(kept ?? {}).sort(), ['_id', 'createdAt', 'hash', 'name', 'organisation'])
  t.notMatch(JSON.stringify(kept), key.slice(17))
})

t.test('what a key does not see is stored with it, and a key with a word that nobody knows is refused', async (t) => {
  const store = await withOrganisation(testStore(t))
  const errors: unknown[] = []
  const keys = keysOf(withoutUpdates(store), (error) => errors.push(error))
  const key = await keys.issue({ organisation: 'org', name: 'Sync', without: ['personal'] })
  t.match(await keys.verify(key), { ...accepted, without: ['personal'] })
  t.match(await keys.verify(await keys.issue({ organisation: 'org', name: 'Sync' })), {
    ...accepted,
    without: undefined,
  })
  for (const without of [['phones'], ['personal', 'phones'], [], 'personal', null, ['personal', 'personal']]) {
    await store.update('apiKeys', keyIdOf(key) as string, { without } as object)
    t.same(await keysOf(store, (error) => errors.push(error)).verify(key), unknown, JSON.stringify(without))
  }
  t.equal(errors.length, 6)
  t.match(String(errors[0]), `Key ${keyIdOf(key)} is invalid: without`)
})

t.test(
  'the projects and forms that a key sees are in one order, whatever the order in which it was issued',
  async (t) => {
    const keys = keysOf(withoutUpdates(await withOrganisation(testStore(t))), failing(t))
    const scopeOf = async (only: Only) => keys.verify(await keys.issue({ organisation: 'org', name: 'Part', only }))
    for (const only of [
      { project: ['b', 'a'], form: ['f'] },
      { form: ['f'], project: ['a', 'b'] },
    ]) {
      const scope = await scopeOf(only)
      t.match(scope, accepted)
      t.equal(JSON.stringify((scope as KeyScope).only), '{"form":["f"],"project":["a","b"]}')
    }
    t.match(await scopeOf({ form: ['f'] }), { only: { form: ['f'], project: undefined } })
  },
)

t.test('a key whose restrictions were taken away or added by another program is refused', async (t) => {
  const store = await withOrganisation(testStore(t))
  const keys = keysOf(store, failing(t))
  const issued = { organisation: 'org', name: 'Part', only: { project: ['a'] }, from: ['10.0.0.0/8'] }
  const { key, document } = await keys.issueStored(issued)
  const { only, from, ...rest } = document
  const free = await keys.issueStored({ organisation: 'org', name: 'All' })
  for (const [stored, isAccepted] of [
    [document, true],
    [{ ...document, ...{ name: 'Renamed', note: 'of another program' } }, true],
    [{ ...document, only: { project: ['a', 'b'] } }, true],
    [{ ...rest, from }, true],
    [rest, false],
    [{ ...rest, hash: rest.hash.slice(-64) }, false],
    [{ ...document, hash: hashOf(key) }, false],
    [free.document, true],
    [{ ...free.document, only }, false],
  ] as const) {
    for await (const _count of store.dangerouslyErase('apiKeys', {}));
    await store.insert('apiKeys', [stored as ApiKeyDocument])
    const whole = stored._id === document._id ? key : free.key
    // It is told of a key whose hash is not that of its restrictions, so that nobody rotates it.
    const isMarked = stored.hash.slice(0, -64) === markOf(stored as object)
    const told: unknown[] = []
    const verified = await keysOf(withoutUpdates(store), (error) => told.push(error)).verify(whole, '10.1.2.3')
    t.equal(told.length, isMarked ? 0 : 1)
    const [listed] = (await keysOf(store, failing(t)).list()) as [StoredKey]
    t.equal(listed.error === undefined, isMarked)
    t.match(verified, isAccepted ? { organisation: 'org' } : unknown, JSON.stringify(stored))
  }
})

t.test('a key is refused from other addresses than its own, and that is not a use of it', async (t) => {
  const { keys, count, clock, written } = await prepare(t)
  const from = ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', 'fe80::1', '::ffff:198.51.100.0/120']
  const key = await keys.issue({ organisation: 'org', name: 'Sync', from })
  const refused = { refused: 'wrong_address', keyId: keyIdOf(key), organisation: 'org' }
  const others = ['11.0.0.1', '192.0.2.8', '::ffff:192.0.2.8', '2001:db9::1', '::1', '198.51.101.1', '::10.1.2.3']
  for (const address of [...others, '', 'unknown', '10.1.2.3:80'])
    t.same(await keys.verify(key, address), refused, address)
  t.same(await keys.verify(key), refused)
  t.equal(count.updates, 0)
  const own = [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '192.0.2.7',
    '::ffff:c000:207',
    '2001:DB8:0::1',
    'fe80::1%eth0',
    '198.51.100.9',
  ]
  for (const address of own) t.match(await keys.verify(key, address), accepted, address)
  await written()
  t.equal(count.updates, 1)
  t.equal(count.finds, 2)
  clock.now += 120_000
  await keys.revoke(keyIdOf(key) as string)
  clock.elapsed += 30_000
  t.match(await keys.verify(key, '11.0.0.1'), { refused: 'revoked' })
})

/**
 * Keys over a store with the organisation `org`, of which `key` is one. `clock` is theirs, and `count` has how often the store
 * was read and updated: a look-up reads a key and then its organisation. `written` waits for the updates, which nobody else does.
 */
const prepare = async (t: Test, changed: (store: Store) => Partial<Store> = () => ({}), empty = testStore(t)) => {
  const store = await withOrganisation(empty)
  const count = { finds: 0, updates: 0 }
  const writes: Promise<unknown>[] = []
  const counted: Store = {
    ...store,
    dangerouslyFind: (collection, id) => {
      count.finds += 1
      return store.dangerouslyFind(collection, id)
    },
    update: (...call) => {
      count.updates += 1
      const write = store.update(...call)
      writes.push(write)
      return write
    },
    ...changed(store),
  }
  const written = () => Promise.all(writes)
  t.teardown(written)
  const clock = { now: 1_750_000_000_000, elapsed: 1000 }
  const options = { now: () => clock.now, elapsed: () => clock.elapsed }
  const keys = keysOf(counted, (error) => t.fail(String(error)), options)
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  return { store, keys, key, keyId: keyIdOf(key) as string, clock, count, written }
}

t.test('a verified key is not looked up for a while, and its revocation takes effect within 30 seconds', async (t) => {
  const { store, keys, key, keyId, clock, count } = await prepare(t)
  const organisation = 'org'
  const scope = {
    organisation,
    without: undefined,
    organisationName: 'Org',
    keyId,
    keyName: 'Sync',
    expiresAt: undefined,
  }
  for (let i = 0; i < 5; i++) t.same(await keys.verify(key), scope)
  t.equal(count.finds, 2)
  await store.update('apiKeys', keyId, { revokedAt: new Date(clock.now) })
  clock.now -= 3_600_000 // the system clock is set back
  clock.elapsed += 30_000
  for (let i = 0; i < 2; i++) t.same(await keys.verify(key), { refused: 'revoked', keyId, organisation })
  t.equal(count.finds, 4, 'a refused key is not looked up again either')
})

t.test('a key that expires while it is cached is refused from then on', async (t) => {
  const { keys, clock } = await prepare(t)
  const key = await keys.issue({ organisation: 'org', name: 'Short', expiresAt: new Date(clock.now + 3000) })
  clock.now += 2999
  t.match(await keys.verify(key), accepted)
  clock.now += 1
  t.match(await keys.verify(key), { refused: 'expired', keyId: keyIdOf(key) })
})

t.test('a key whose expiry is stored as null does not expire, and it may have fields of other programs', async (t) => {
  const { store, keys, key, keyId } = await prepare(t)
  await store.update('apiKeys', keyId, { revokedAt: null, expiresAt: null, note: 'For the nightly job' } as object)
  t.match(await keys.verify(key), accepted)
})

t.test('a key whose organisation is gone is refused, without a look-up for each request', async (t) => {
  const { store, keys, key, keyId, clock, count } = await prepare(t)
  for await (const _count of store.dangerouslyErase('organisations', { _id: 'org' }));
  for (let i = 0; i < 5; i++) {
    t.same(await keys.verify(key), { refused: 'organisation_gone', keyId, organisation: 'org' })
  }
  t.equal(count.finds, 2)
  await withOrganisation(store)
  clock.elapsed += 30_000
  t.match(await keys.verify(key), accepted)
})

t.test('a malformed key is refused without a look-up', async (t) => {
  const { keys, count } = await prepare(t)
  for (const key of ['', 'fda_', `${makeKey()}x`]) t.same(await keys.verify(key), { refused: 'malformed' })
  t.equal(count.finds, 0)
})

t.test('many simultaneous requests with one key look it up once', async (t) => {
  const { keys, key, count } = await prepare(t)
  await Promise.all(Array.from({ length: 20 }, () => keys.verify(key)))
  t.equal(count.finds, 2)
})

t.test('the last use of a key is written once a minute', async (t) => {
  const { store, keys, key, keyId, clock, count, written } = await prepare(t)
  const start = clock.now
  for (; clock.now < start + 120_000; clock.now += 5000) {
    await keys.verify(key)
    await written()
  }
  t.equal(count.updates, 2)
  t.same((await store.dangerouslyFind('apiKeys', keyId))?.lastUsedAt, new Date(start + 60_000))
})

t.test('a last use that cannot be written is reported, and the request does not fail', async (t) => {
  const store = await withOrganisation(testStore(t))
  const errors: unknown[] = []
  const broken: Store = { ...store, update: () => Promise.reject(new Error('read-only')) }
  const keys = keysOf(broken, (error) => errors.push(error))
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  t.match(await keys.verify(key), accepted)
  t.match(errors, [{ message: 'read-only' }])
})

t.test('an error of the store while a key is looked up does not make the key unknown', async (t) => {
  let isDown = true
  const { keys, key } = await prepare(t, (store) => ({
    dangerouslyFind: (...call) => (isDown ? Promise.reject(new Error('down')) : store.dangerouslyFind(...call)),
  }))
  await t.rejects(keys.verify(key), { message: 'down' })
  isDown = false
  t.match(await keys.verify(key), accepted, 'the error is not cached')
})

t.test('a key that does not match the schema is not issued', async (t) => {
  const store = await withOrganisation(testStore(t))
  const keys = keysOf(store, failing(t))
  for (const organisation of ['', ' ', 'a b', '$org', 'org\n', 'org\u202e', 'x'.repeat(101)]) {
    await t.rejects(keys.issue({ organisation, name: 'Sync' }), {
      message: /^Key \w+ is invalid: organisation: expected/,
    })
  }
  t.same(await store.dangerouslyFindAll('apiKeys', {}), [])
})

t.test('a key is rotated once and revoked once, and a rotation that comes too late leaves no key', async (t) => {
  const store = await withOrganisation(testStore(t))
  const keys = keysOf(store, failing(t))
  const keyId = keyIdOf(await keys.issue({ organisation: 'org', name: 'Sync' })) as string
  // As each of several commands has read it.
  const document = (await keys.find(keyId))?.document as ApiKeyDocument
  const outcomes = await Promise.allSettled([1, 2].map(() => keys.rotate(document, { overlapMs: 1000 })))
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.equal((await keys.list('org')).length, 2)
  const revoked = await Promise.all([keys.revoke(keyId, 'Ana'), keys.revoke(keyId, 'Ana')])
  t.same(revoked.map((each) => each?.isFirst).sort(), [false, true])
  await store.update('apiKeys', keyId, { successor: null } as never)
  await t.rejects(keys.rotate(document, { overlapMs: 1000, lifetimeMs: 60_000 }), {
    message: `Key ${keyId} was rotated or revoked meanwhile: no other key takes its place`,
  })
  t.equal((await keys.list()).length, 2)
  t.equal(await keys.revoke('nobody'), undefined)
  const expiresAt = new Date(Date.now() + 3_600_000)
  const ending = await keys.issueStored({ organisation: 'org', name: 'Ending', expiresAt, issuedBy: 'Ana' })
  const rotated = await keys.rotate(ending.document, { overlapMs: 7_200_000, issuedBy: 'Ben' })
  t.match(rotated, { end: expiresAt, document: { name: 'Ending', issuedBy: 'Ben', expiresAt: Date } })
  const short = { overlapMs: 60_000, lifetimeMs: 1000 }
  await t.rejects(keys.rotate(document, short), { message: /^The new key would end at .*, before the old one at / })
})

t.test('a revocation is told although the key cannot be read again', async (t) => {
  let isDown = false
  const { keys, keyId } = await prepare(t, (store) => ({
    dangerouslyFindAll: (...call) => (isDown ? Promise.reject(new Error('down')) : store.dangerouslyFindAll(...call)),
    update: async (...call) => {
      isDown = true
      return store.update(...call)
    },
  }))
  t.match(await keys.revoke(keyId), { stored: { document: { _id: keyId } }, isFirst: true })
})

t.test('an invalid stored key is refused, and reported once for each look-up', async (t) => {
  const store = await withOrganisation(testStore(t))
  for (const [fields, error] of [
    [{ organisation: { $ne: 'x' } }, 'organisation: expected string'],
    [{ organisation: { $gt: '' } }, 'organisation: expected string'],
    [{ organisation: ['org'] }, 'organisation: expected string'],
    [{ organisation: '$org' }, 'organisation: expected string to match'],
    [{ organisation: null }, 'organisation: expected string'],
    [{ expiresAt: '2099-01-01' }, 'expiresAt: expected union value'],
    [{ revokedAt: false }, 'revokedAt: expected union value'],
    [{ createdAt: 1 }, 'createdAt: expected Date'],
    [{ only: null }, 'only: expected object'],
    [{ only: {} }, 'only: expected object to have at least 1 properties'],
    [{ only: 'project=a' }, 'only: expected object'],
    [{ only: ['a'] }, 'only: expected object'],
    [{ only: { project: ['a'], agent: ['a'] } }, 'only/agent: unexpected property'],
    [{ only: { project: [] } }, 'only/project: expected array length to be greater or equal to 1'],
    [{ only: { project: 'a' } }, 'only/project: expected array'],
    [{ only: { form: [{ $ne: 'a' }] } }, 'only/form/0: expected string'],
    [{ only: { form: ['a', 'a'] } }, 'only/form: expected array elements to be unique'],
    [{ only: { form: Array.from({ length: 51 }, (_, n) => `${n}`) } }, 'only/form: expected array length to be less'],
    [{ from: null }, 'from: expected array'],
    [{ from: [] }, 'from: expected array length to be greater or equal to 1'],
    [{ from: '10.0.0.1' }, 'from: expected array'],
    [{ from: ['10.0.0.1', '10.0.0.0/33'] }, "from/1: expected string to match 'address' format"],
  ] as const) {
    const key = makeKey()
    const _id = keyIdOf(key) as string
    const hash = hashOf(key)
    const document = { _id, organisation: 'org', name: 'Sync', hash, createdAt: new Date(), ...fields }
    await store.insert('apiKeys', [document as never])
    const reports: [unknown, string][] = []
    const keys = keysOf(store, (...report) => reports.push(report))
    t.same(await Promise.all([keys.verify(key), keys.verify(key)]), [unknown, unknown], error)
    t.same(await keys.verify(key), unknown)
    t.match(reports, [[{ message: `Key ${_id} is invalid: ${error}` }, /^a stored key is invalid/]])
    t.notMatch(String(reports), hash)
    const [listed] = (await keys.list()).filter(({ document }) => document._id === _id)
    t.match(listed, { error })
  }
})

t.test('a key that was tried before it was issued is accepted from then on', async (t) => {
  const { keys } = await prepare(t)
  const randomInteger = () => 7
  const key = makeKey(randomInteger)
  for (let i = 0; i < 5; i++) t.same(await keys.verify(key), unknown)
  await keys.issue({ organisation: 'org', name: 'Late' }, randomInteger)
  t.match(await keys.verify(key), accepted)
})

t.test('a flood from one address waits, and neither others nor keys that are known wait behind it', async (t) => {
  const store = await withOrganisation(withoutUpdates(testStore(t)))
  const limit = { all: 3, perKey: 2 }
  const memory = { all: 1, partOfLeft: 1 }
  const scheduler = new FairScheduler({ small: limit, large: limit, memory, waitMs: 5000 })
  const asked: string[] = []
  const goOn = new Map<string, () => void>()
  let isDown = false
  /** Look-ups of unknown keys end when the test says so. */
  const slow: Store = {
    ...store,
    async dangerouslyFind(collection, id) {
      if (isDown) throw new Error('down')
      const found = await store.dangerouslyFind(collection, id)
      if (found !== undefined) return found
      asked.push(id)
      await new Promise<void>((resolve) => goOn.set(id, resolve))
      return undefined
    },
  }
  const clock = { elapsed: 1000 }
  const keys = keysOf(slow, failing(t), { scheduler, elapsed: () => clock.elapsed })
  const issued = async () => keys.issue({ organisation: 'org', name: 'Sync' })
  const [knownKey, newKey, flood] = [await issued(), await issued(), Array.from({ length: 4 }, () => makeKey())]
  const ids = flood.map((key) => String(keyIdOf(key)))
  t.match(await keys.verify(knownKey, 'flood'), accepted)
  clock.elapsed += 30_000
  isDown = true
  await t.rejects(keys.verify(knownKey, 'flood'), { message: 'down' })
  isDown = false
  const refused = flood.map((key) => keys.verify(key, 'flood'))
  t.match(
    await keys.verify(knownKey, 'flood'),
    accepted,
    'it is looked up again, also after an outage, and does not wait',
  )
  t.match(await keys.verify(newKey, 'other'), accepted)
  while (asked.length < 2) await setImmediate()
  t.same(asked.toSorted(), ids.slice(0, 2).sort(), 'two of an address are looked up at once')
  const late = keys.verify(flood[3] as string, 'other')
  while (!goOn.has(String(ids[3]))) await setImmediate()
  goOn.get(String(ids[3]))?.()
  t.same(await late, unknown, 'nor does a key that the flood has too')
  for (const id of ids) {
    while (!goOn.has(id)) await setImmediate()
    goOn.get(id)?.()
  }
  while (asked.length < 5) await setImmediate()
  goOn.get(String(ids[3]))?.()
  t.same(await Promise.all(refused), [unknown, unknown, unknown, unknown])
})

t.test('an address that a long header named does not keep the header', async (t) => {
  const keys = keysOf(embeddedStore(), failing(t), { scheduler: oneAtATime() })
  const key = makeKey()
  const before = heapUsed()
  for (let n = 0; n < 1000; n++) {
    const header = `${Buffer.alloc(15_000, `${n} `)}, 2001:db8:0:1:2:3:4:${n}`
    await keys.verify(key, header.slice(15_002))
  }
  t.ok(heapUsed() - before < 5_000_000, 'the headers have 15 MB')
})

/** A well-formed key with the id of another key. */
const withIdOf = (key: string): string => {
  const letters = [...key.slice(4, 16)].map((letter) =>
    '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.indexOf(letter),
  )
  return makeKey((limit) => letters.shift() ?? randomInt(limit))
}

t.test('a key with the right id and a wrong secret is refused, and does not affect the right key', async (t) => {
  const { keys, key, clock, count } = await prepare(t)
  const wrong = withIdOf(key)
  t.equal(keyIdOf(wrong), keyIdOf(key))
  for (let i = 0; i < 3; i++) t.same(await keys.verify(wrong), unknown)
  for (const finds of [2, 4]) {
    t.match(await Promise.all([keys.verify(wrong), keys.verify(key)]), [unknown, accepted])
    t.equal(count.finds, finds, 'both share what was looked up')
    clock.elapsed += 30_000
  }
})

t.test('a key that is deleted from the database is refused within 30 seconds', async (t) => {
  const { store, keys, key, clock, written } = await prepare(t)
  t.match(await keys.verify(key), accepted)
  await written()
  for await (const _count of store.dangerouslyErase('apiKeys', {}));
  clock.elapsed += 30_000
  t.same(await keys.verify(key), unknown)
})

t.test('unknown keys do not displace verified keys from the cache', { skip: leftToGate }, async (t) => {
  const { keys, key, count } = await prepare(t, undefined, embeddedStore())
  t.match(await keys.verify(key), accepted)
  await Promise.all(Array.from({ length: 12_000 }, () => keys.verify(makeKey())))
  const { finds } = count
  t.match(await keys.verify(key), accepted)
  t.equal(count.finds, finds)
})

t.test('the keys that end soon are counted as long as they are in use and have no successor', async (t) => {
  const store = await withOrganisation(testStore(t))
  let now = 1_750_000_000_000
  let elapsed = 1000
  const errors: unknown[] = []
  const keys = keysOf(withoutUpdates(store), (error) => errors.push(error), { now: () => now, elapsed: () => elapsed })
  const used = async (fields: object) => {
    const key = await keys.issue({ organisation: 'org', name: 'Sync' })
    await store.update('apiKeys', keyIdOf(key) as string, fields)
    await keys.verify(key)
    return key
  }
  const inMs = (ms: number) => ({ expiresAt: new Date(now + ms) })
  for (const fields of [{}, { expiresAt: null }, inMs(1000), inMs(-1)]) await used(fields)
  t.equal(keys.ending(1000), 0)
  await keys.issue({ organisation: 'org', name: 'Unused', ...inMs(500) })
  await used({ ...inMs(500), revokedAt: new Date(now) })
  await used({ ...inMs(500), successor: 'other' })
  t.strictSame(errors, [])
  await used({ ...inMs(500), name: 5 })
  t.match(errors, [{ message: /is invalid: name/ }])
  t.equal(keys.ending(1000), 0)
  const key = await used(inMs(500))
  await used(inMs(999))
  t.equal(keys.ending(1000), 2)
  now += 500
  t.equal(keys.ending(1000), 2, 'the key that ends in 1000 ms has taken the place of the one that has ended')
  elapsed += 3_600_000 + 30_000
  t.equal(keys.ending(1000), 0, 'none is in use')
  await keys.verify(key)
  t.equal(keys.ending(1000), 0, 'it has ended')
})
