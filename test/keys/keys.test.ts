// API keys: their form, what is kept of them, and how long a verified one is trusted.
import t from 'tap'
import { hashOf, keyIdOf, makeKey, redacted } from '../../src/keys/format.js'
import { keysOf } from '../../src/keys/keys.js'
import type { Store } from '../../src/store/store.js'
import { testStore } from '../support/store.js'

const failing = (t: { fail(message: string): unknown }) => (error: unknown) => t.fail(String(error))

t.test('a key has its id, 33 letters of secret and a checksum, and no two are alike', async (t) => {
  const keys = Array.from({ length: 200 }, () => makeKey())
  t.equal(new Set(keys).size, 200)
  for (const key of keys) {
    t.match(key, /^fda_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/)
    t.equal(keyIdOf(key), key.slice(4, 16))
  }
})

t.test('a mistyped key has no id', async (t) => {
  const key = makeKey()
  for (const at of [0, 5, 16, 20, key.length - 1]) {
    const wrong = key[at] === 'x' ? 'y' : 'x'
    t.equal(keyIdOf(key.slice(0, at) + wrong + key.slice(at + 1)), undefined, `letter ${at}`)
  }
  for (const text of ['', 'fda_', key.slice(1), `${key}x`, key.toUpperCase()]) t.equal(keyIdOf(text), undefined)
})

t.test('the log gets the id of a key and not its secret', async (t) => {
  const key = makeKey()
  t.equal(redacted(`/x?a=${key}&b=${key}`), `/x?a=fda_${keyIdOf(key)}_[redacted]&b=fda_${keyIdOf(key)}_[redacted]`)
  const encoded = [...key].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  t.equal(redacted(`/x?a=${encoded}&b=%2F%3d%zz`), `/x?a=fda_${keyIdOf(key)}_[redacted]&b=%2F%3d%zz`)
})

t.test('what is kept of a key is its hash', async (t) => {
  const store = testStore(t)
  const key = await keysOf(store, failing(t)).issue({ organisation: 'org', name: 'Sync' })
  const kept = await store.dangerouslyFind('apiKeys', keyIdOf(key) as string)
  t.match(kept, { organisation: 'org', name: 'Sync', hash: hashOf(key), createdAt: Date })
  t.same(Object.keys(kept ?? {}).sort(), ['_id', 'createdAt', 'hash', 'name', 'organisation'])
  t.notMatch(JSON.stringify(kept), key.slice(17))
})

/** A store that counts the look-ups and the writes of keys. */
const counting = (store: Store) => {
  const count = { finds: 0, updates: 0 }
  const writes: Promise<unknown>[] = []
  const counted: Store = {
    ...store,
    dangerouslyFind: (collection, id) => {
      count.finds += 1
      return store.dangerouslyFind(collection, id)
    },
    update: (collection, id, fields) => {
      count.updates += 1
      const write = store.update(collection, id, fields)
      writes.push(write)
      return write
    },
  }
  /** Waits for the writes that no request waits for. */
  const written = () => Promise.all(writes)
  return { count, counted, written }
}

t.test('a verified key costs no look-up for a while, and a revocation is felt within 30 seconds', async (t) => {
  const store = testStore(t)
  const { count, counted, written } = counting(store)
  let now = 1_750_000_000_000
  let elapsed = 1000
  const keys = keysOf(
    counted,
    failing(t),
    () => now,
    () => elapsed,
  )
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  const scope = { organisation: 'org', keyId: keyIdOf(key) }

  for (let i = 0; i < 5; i++) t.same(await keys.verify(key), scope)
  t.equal(count.finds, 1)
  await store.update('apiKeys', scope.keyId as string, { revokedAt: new Date(now) })
  now -= 3_600_000 // somebody sets the clock
  elapsed += 30_000
  t.equal(await keys.verify(key), undefined)
  t.equal(count.finds, 2)
  await written()
})

t.test('a key that expires while it is known is refused from then on', async (t) => {
  const { counted, written } = counting(testStore(t))
  let now = 1_750_000_000_000
  const keys = keysOf(counted, failing(t), () => now)
  const key = await keys.issue({ organisation: 'org', name: 'Short', expiresAt: new Date(now + 3000) })
  now += 2999
  t.ok(await keys.verify(key))
  now += 1
  t.equal(await keys.verify(key), undefined)
  await written()
})

t.test('a key whose end is stored as null has none', async (t) => {
  const store = testStore(t)
  const { counted, written } = counting(store)
  const keys = keysOf(counted, failing(t))
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  await store.update('apiKeys', keyIdOf(key) as string, { revokedAt: null, expiresAt: null } as object)
  t.ok(await keys.verify(key))
  await written()
})

t.test('many requests at once with one key look it up once', async (t) => {
  const { count, counted, written } = counting(testStore(t))
  const keys = keysOf(counted, failing(t))
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  await Promise.all(Array.from({ length: 20 }, () => keys.verify(key)))
  t.equal(count.finds, 1)
  await written()
})

t.test('the last use of a key is written once a minute', async (t) => {
  const store = testStore(t)
  const { count, counted, written } = counting(store)
  let now = 1_750_000_000_000
  const keys = keysOf(counted, failing(t), () => now)
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  const start = now
  for (; now < start + 120_000; now += 5000) {
    await keys.verify(key)
    await written()
  }
  t.equal(count.updates, 2)
  const kept = await store.dangerouslyFind('apiKeys', keyIdOf(key) as string)
  t.same(kept?.lastUsedAt, new Date(start + 60_000))
})

t.test('a last use that cannot be written is reported and costs no request its answer', async (t) => {
  const store = testStore(t)
  const errors: unknown[] = []
  const broken: Store = { ...store, update: () => Promise.reject(new Error('read-only')) }
  const keys = keysOf(broken, (error) => errors.push(error))
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  t.ok(await keys.verify(key))
  t.match(errors, [{ message: 'read-only' }])
})

t.test('a failure of the store while a key is looked up is not taken for a bad key', async (t) => {
  const { counted, written } = counting(testStore(t))
  let down = true
  const keys = keysOf(
    {
      ...counted,
      dangerouslyFind: (collection, id) =>
        down ? Promise.reject(new Error('down')) : counted.dangerouslyFind(collection, id),
    },
    failing(t),
  )
  const key = await keys.issue({ organisation: 'org', name: 'Sync' })
  await t.rejects(keys.verify(key), { message: 'down' })
  down = false
  t.ok(await keys.verify(key), 'and it is not remembered')
  await written()
})
