// What happens to the records and keys of an organisation that is removed, also when something else happens meanwhile.
import t, { type Test } from 'tap'
import { removeOrganisation } from '../../src/commands/organisations.js'
import type { Session } from '../../src/commands/run-command.js'
import { recordCollections } from '../../src/core/documents/collections.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { testStore, withoutUpdates } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

const keysIn = (store: Store) => keysOf(store, () => {})

/** The organisations A and B, each with a key that works, and A with a revoked key and two deletions. */
const filled = async (t: Test) => {
  const store = testStore(t)
  await fillTenants(store)
  await store.remove('entries', A, [a.entry(1)._id, a.entry(2)._id])
  const issue = (organisation: string) => keysIn(store).issueStored({ organisation, name: 'Test' })
  const [ofA, ofB, revoked] = [await issue(A), await issue(B), await issue(A)]
  await keysIn(store).revoke(revoked.document._id, 'Ben')
  const verify = async (key: string) => (await keysIn(withoutUpdates(store)).verify(key)) as object
  return { store, ofA, ofB, verify }
}

/** Removes A, and tells of its steps. */
const remove = async (store: Store, pause: (ms: number) => Promise<unknown> = async () => {}) => {
  const steps: string[] = []
  const audit: Session['audit'] = (action, by, details) => steps.push([action, by, ...Object.values(details)].join(' '))
  const wait = (ms: number) => {
    steps.push(`wait ${ms}`)
    return pause(ms)
  }
  const organisation = await store.dangerouslyFind('organisations', A)
  return { ...(await removeOrganisation(store, A, organisation, 'Ana', audit, wait)), steps }
}

const BEGUN = `organisations remove begins Ana ${A}`

const addAgain = async (store: Store) => {
  const now = new Date()
  await store.insert('organisations', [{ _id: A, name: 'Other', createdAt: now, updatedAt: now }])
  await store.insert('users', [a.user])
}

/** How many documents of an organisation there are, of all kinds but keys. */
const left = async (store: Store, organisation: string): Promise<number> => {
  let count = (await store.dangerouslyFindAll('organisations', { _id: organisation })).length
  for (const name of recordCollections) {
    for (const field of ['organisation', 'deletedFrom']) {
      count += (await store.dangerouslyFindAll(name, { [field]: organisation })).length
    }
  }
  return count
}

/** The keys of A that are not revoked. */
const working = async (store: Store) =>
  (await store.dangerouslyFindAll('apiKeys', { organisation: A })).filter(({ revokedAt }) => !revokedAt)

t.test('first the keys are revoked, and when no instance accepts them, everything is deleted', async (t) => {
  const { store, ofA, ofB, verify } = await filled(t)
  const [ofABefore, ofBBefore] = [await left(store, A), await left(store, B)]
  await store.insert('users', [{ ...a.user, _id: 'shared', organisation: [A, B] as never }])
  const removed = await remove(store, async () => {
    t.match(await verify(ofA.key), { refused: 'revoked' })
    t.equal(await left(store, A), ofABefore + 1)
  })
  t.same(removed, {
    deleted: { entries: 4, dispatches: 4, projects: 3, forms: 1, agents: 2, users: 1 },
    keysRevoked: 1,
    isNothing: false,
    steps: [BEGUN, `keys revoke Ana ${ofA.document._id} ${A}`, 'wait 30000'],
  })
  t.match(await verify(ofA.key), { refused: 'organisation_gone' })
  t.match(await verify(ofB.key), { organisation: B })
  t.equal(await left(store, A), 1, 'but for the record of nobody')
  t.equal(await left(store, B), ofBBefore + 1)
  const keys = await store.dangerouslyFindAll('apiKeys', { organisation: A })
  t.same(keys.map(({ revokedBy }) => revokedBy).sort(), ['Ana', 'Ben'])
})

/** The store, where the nth of what a removal does fails, and the others do what they do. */
const failingAt = (store: Store, n: number) => {
  let left = n
  const step = () => {
    left -= 1
    if (left === 0) throw new StoreUnavailable(new Error('gone'))
  }
  const failing: Store = {
    ...store,
    async update(...call) {
      step()
      return store.update(...call)
    },
    async *dangerouslyErase(...call) {
      step()
      yield* store.dangerouslyErase(...call)
    },
  }
  return { failing, step: async () => step() }
}

t.test('a removal that is interrupted at any step goes on when it is called again', async (t) => {
  let [steps, isWhole] = [0, false]
  while (!isWhole) {
    steps += 1
    const { store, ofA, verify } = await filled(t)
    const before = await left(store, A)
    const { failing, step } = failingAt(store, steps)
    isWhole = await remove(failing, step).then(
      () => true,
      () => false,
    )
    if (await store.dangerouslyFind('users', a.user._id))
      t.ok(await store.dangerouslyFind('organisations', A), 'it is listed while it has records')
    if ((await left(store, A)) < before) t.match(await verify(ofA.key), { refused: /revoked|organisation_gone/ })
    if (isWhole) break
    await remove(store)
    t.equal(await left(store, A), 0)
    t.same(await working(store), [])
  }
  t.ok(steps > 2 + 2 * recordCollections.length, 'as many steps as there are')
})

t.test('a removal that goes on waits only if an instance may accept a key', async (t) => {
  const { store } = await filled(t)
  await t.rejects(remove(store, () => Promise.reject(new Error('interrupted'))))
  const keys = await store.dangerouslyFindAll('apiKeys', { organisation: A })
  for (const [revoked, msAgo, steps] of [
    ['just now', 10_000, [BEGUN, 'wait 30000']],
    ['by a clock that is ahead', -60_000, [BEGUN, 'wait 30000']],
    ['long enough ago', 30_000, [BEGUN]],
  ] as const) {
    for (const { _id } of keys) await store.update('apiKeys', _id, { revokedAt: new Date(Date.now() - msAgo) })
    const erasing = { ...store, dangerouslyErase: () => [] as never }
    t.same((await remove(erasing)).steps, steps, revoked)
  }
})

t.test('of two removals at once both end, and one that finds nothing says so', async (t) => {
  const { store } = await filled(t)
  const first = await remove(store, async () =>
    t.match(await remove(store), { deleted: { users: 1 }, keysRevoked: 0, isNothing: false }),
  )
  t.match(first, { deleted: { users: 0 }, keysRevoked: 1, isNothing: false })
  t.equal(await left(store, A), 0)
  t.match(await remove(store), { keysRevoked: 0, isNothing: true })
})

t.test('an organisation that was added again meanwhile is left alone', async (t) => {
  for (const when of ['while somebody was asked', 'while it waited']) {
    const { store } = await filled(t)
    const again = async () => {
      await remove(store)
      await addAgain(store)
      await keysIn(store).issue({ organisation: A, name: 'Other' })
    }
    const asked: Store = {
      ...store,
      async dangerouslyFind(...search) {
        const found = await store.dangerouslyFind(...search)
        await again()
        return found
      },
    }
    const removing = when === 'while it waited' ? remove(store, again) : remove(asked)
    const message = 'Organisation org-a was added again meanwhile: what it has now stays'
    await t.rejects(removing, { message }, when)
    t.equal(await left(store, A), 2)
    t.match(await store.dangerouslyFind('organisations', A), { name: 'Other' })
    t.equal((await working(store)).length, 1)
  }
})

t.test('a key that is issued while a removal runs is revoked too, and waited for', async (t) => {
  for (const when of ['wait', 'erase'] as const) {
    const { store, ofA, verify } = await filled(t)
    let key = ''
    const issue = async () => {
      key ||= await keysIn(store).issue({ organisation: A, name: 'Late' })
    }
    const erasing: Store = {
      ...store,
      async *dangerouslyErase(...call) {
        if (when === 'erase') await issue()
        yield* store.dangerouslyErase(...call)
      },
    }
    const { keysRevoked, steps } = await remove(erasing, when === 'wait' ? issue : undefined)
    t.equal(keysRevoked, 2)
    const second = [`keys revoke Ana ${key.slice(4, 16)} ${A}`, ...(when === 'wait' ? ['wait 30000'] : [])]
    t.same(steps, [BEGUN, `keys revoke Ana ${ofA.document._id} ${A}`, 'wait 30000', ...second])
    t.match(await verify(key), { refused: 'organisation_gone' })
    t.same(await working(store), [], 'no key works if the id is used again')
  }
})

t.test('a key that somebody else revokes in the same moment is not told of', async (t) => {
  const { store, ofA } = await filled(t)
  const keyId = ofA.document._id
  const beside: Store = {
    ...store,
    update: async (name, id, ...rest) => {
      if (id === keyId) await keysIn(store).revoke(keyId, 'Ben')
      return store.update(name, id, ...rest)
    },
  }
  t.same((await remove(beside)).steps, [BEGUN, 'wait 30000'])
})
