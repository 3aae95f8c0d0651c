// The command that lists the stored documents that do not fit.
import t, { type Test } from 'tap'
import { checkCommand } from '../../src/commands/check.js'
import type { CollectionName } from '../../src/core/documents/collections.js'
import { keysOf } from '../../src/core/keys/keys.js'
import type { Store } from '../../src/core/store/store.js'
import { tryCommand, wrongCalls } from '../support/command.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

type Changes = readonly (readonly [CollectionName, id: string, fields: object])[]

/** A store with data, after changes of some of its documents. */
const storeWith = async (t: Test, changes: Changes = []) => {
  const store = testStore(t)
  await fillTenants(store)
  await keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })
  for (const [collection, id, fields] of changes) t.ok(await store.update(collection, id, fields as never), id)
  return store
}

/** What the command finds, as texts in the order of the alphabet. */
const findings = async (t: Test, store: Store, ...argv: string[]): Promise<string[]> => {
  const { code, stdout } = await tryCommand(checkCommand, store, argv)
  t.equal(code, stdout === '' ? 0 : 1)
  const found = stdout.split('\n').filter(Boolean)
  return found
    .map((line) => JSON.parse(line))
    .map(({ collection, id, organisation, errors }) => `${collection} ${id} of ${organisation}: ${errors.join('; ')}`)
    .sort()
}

/** The store, where the collection of entries also holds this. */
const withEntries = (store: Store, ...found: unknown[]): Store => ({
  ...store,
  async *dangerouslyReadAll(name) {
    if (name === 'entries') yield found as never
    yield* store.dangerouslyReadAll(name)
  },
})

const DATES = 'must be a BSON date, from the year 0001 to 9999 in UTC'
const RESERVED_OR_CONTROL = 'id: must not be checkpoint, and must not contain control characters'

t.test('documents that fit, tombstones, unknown fields and null for what may be missing are no findings', async (t) => {
  const store = await storeWith(t, [
    ['entries', a.entry(2)._id, { duration: null, location: { city: null, other: 1 }, __v: 0 }],
    ['users', a.user._id, { changedAt: new Date((await testStore(t).now()).now) }],
    ['projects', a.project(1)._id, { name: '€'.repeat(250) }],
  ])
  await store.remove('entries', A, [a.entry(1)._id])
  t.match(await tryCommand(checkCommand, store, []), { code: 0, stdout: '', output: /^All documents fit: \d{2,}\n$/ })
})

t.test('each document that does not fit is a line that names it and what is wrong', async (t) => {
  const store = await storeWith(t, [
    ['entries', a.entry(2)._id, { answers: [{ type: 5, question: 'x' }], updatedAt: '2025-01-01T00:00:00Z' }],
    ['entries', a.entry(3)._id, { agent: 'x\0' }],
    ['dispatches', a.dispatch(1)._id, { dispatchType: 'other', name: 'x'.repeat(251) }],
    ['forms', a.form._id, { changedAt: 'now' }],
    ['organisations', A, { name: 5 }],
    ['projects', a.project(1)._id, { organisation: 5 }],
    ['agents', a.agent(1)._id, { deletedFrom: A }],
    ['agents', a.agent(2)._id, { changedAt: new Date('9999-12-31T00:00:00Z') }],
    ['users', a.user._id, Object.fromEntries(['status', 'firstName', 'lastName'].map((name) => [name, 1]))],
  ])
  await store.insert(
    'users',
    ['checkpoint', 'checkpoint1', 'user\n', 5].map((_id) => ({ ...a.user, _id }) as never),
  )
  await store.remove('entries', A, [a.entry(1)._id])
  await store.update('entries', a.entry(1)._id, { deletedAt: 'now' } as never)
  const { output } = await tryCommand(checkCommand, store, [])
  t.match(output, /^Documents that do not fit: 13 of \d+$/m)
  const stamps = [
    'agents agent2-a of org-a: changedAt: is ahead of the database’s clock, and no feed shows the record until then',
    `forms form-a of org-a: changedAt: ${DATES}`,
  ]
  const others = [
    'agents agent1-a of org-a: deletedFrom: must not be in a record',
    'dispatches dispatch1-a of org-a: dispatchType: must be one of basic, prefilled, hybrid, survey; name: expected string length less or equal to 250',
    `entries entry1-a of org-a: deletedAt: ${DATES}`,
    `entries entry2-a of org-a: answers.0.type: expected string; updatedAt: ${DATES}`,
    'entries entry3-a of org-a: agent: must not contain control characters',
    'organisations org-a of undefined: name: expected string',
    'projects project1-a of 5: organisation: expected string',
    'users 5 of org-a: id: expected string',
    `users checkpoint of org-a: ${RESERVED_OR_CONTROL}`,
    'users user-a of org-a: status: expected string; firstName: expected string; lastName: expected string',
    `users user\n of org-a: ${RESERVED_OR_CONTROL}`,
  ]
  t.same(await findings(t, store), [...stamps, ...others].sort())
  t.same(await findings(t, store, '--no-stamps', '--json'), others.sort())
})

t.test('the sets of former projects and forms are arrays of ids, and only where there are such sets', async (t) => {
  const store = await storeWith(t, [
    ['entries', a.entry(2)._id, { formerProjects: [a.project(1)._id, a.project(1)._id], formerForms: [] }],
    ['entries', a.entry(3)._id, { formerProjects: a.project(1)._id, formerForms: ['', null] }],
    ['dispatches', a.dispatch(1)._id, { formerForms: { 0: 'form' } }],
    ['forms', a.form._id, { formerForms: 5 }],
  ])
  await store.remove('entries', A, [a.entry(1)._id])
  await store.remove('dispatches', A, [a.dispatch(2)._id])
  await store.update('dispatches', a.dispatch(2)._id, { project: [], form: 5, formerProjects: 5 } as never)
  await store.remove('agents', A, [a.agent(1)._id])
  const before = { document: { _id: 'before', deletedFrom: A, deletedAt: new Date() } }
  t.same(await findings(t, withEntries(store, before)), [
    'dispatches dispatch1-a of org-a: formerForms: expected array',
    'dispatches dispatch2-a of org-a: project: expected string; form: expected string; formerProjects: expected array',
    'entries entry3-a of org-a: formerProjects: expected array; formerForms.0: expected string length greater or equal to 1; formerForms.1: expected string',
  ])
})

t.test('a key with a wrong value is a finding, and null is one where such a key is refused', async (t) => {
  for (const [fields, ...errors] of [
    [{ expiresAt: null, revokedAt: null, lastUsedAt: null, other: null }],
    [{ without: null }, 'without: expected array'],
    [{ without: [] }, 'without: expected array length to be greater or equal to 1'],
    [{ without: ['names'] }, 'without.0: must be one of personal, places'],
    [{ only: { form: ['f'], agent: ['a'] } }, 'only.agent: is not a known field'],
    [{ only: { form: ['f'] } }, 'hash: is of a key with another only or from; issue a key anew'],
    [{ from: ['10.0.0.1', 'x'] }, "from.1: expected string to match 'address' format"],
    [{ successor: null, issuedBy: 5 }, 'issuedBy: expected string; successor: expected string'],
  ] as const) {
    const store = await storeWith(t)
    const [key] = await store.dangerouslyFindAll('apiKeys', {})
    await store.update('apiKeys', String(key?._id), fields as never)
    t.same(
      await findings(t, store),
      errors.map((error) => `apiKeys ${key?._id} of ${A}: ${error}`),
    )
  }
})

t.test('what cannot be read is a finding, also an id alone, and of many errors the first ten are listed', async (t) => {
  const store = await storeWith(t, [['entries', a.entry(2)._id, { answers: Array.from({ length: 30 }, () => 5) }]])
  const broken = { isIdBroken: true }
  const found = await findings(
    t,
    withEntries(
      store,
      { error: 'bad length' },
      { document: { ...a.entry(5), _id: 'x\ufffd', answers: [], changedAt: new Date(0) }, ...broken },
      { document: { _id: 'y\ufffd', deletedFrom: A, deletedAt: new Date() }, ...broken },
    ),
  )
  t.equal(found.find((text) => text.includes('entry2-a'))?.split('; ').length, 10)
  t.same(
    found.filter((text) => !text.includes('entry2-a')),
    [
      'entries undefined of undefined: cannot be read: bad length',
      'entries x\ufffd of org-a: id: is not valid UTF-8',
      'entries y\ufffd of org-a: id: is not valid UTF-8',
    ],
  )
})

t.test('a wrong call says what is wrong', (t) => wrongCalls(t, [['check --bogus', "Unknown option '--bogus'"]]))
