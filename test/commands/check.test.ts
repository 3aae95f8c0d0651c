// The command that lists the stored documents that do not fit.
import t, { type Test } from 'tap'
import { checkCommand } from '../../src/commands/check.js'
import type { CollectionName } from '../../src/documents/collections.js'
import { keysOf } from '../../src/keys/keys.js'
import type { Store } from '../../src/store/store.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

/** A store with data, after changes of some of its documents. */
const storeWith = async (t: Test, changes: readonly [CollectionName, id: string, fields: object][] = []) => {
  const store = testStore(t)
  await fillTenants(store)
  await keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })
  for (const [collection, id, fields] of changes) t.ok(await store.update(collection, id, fields as never), id)
  return store
}

const linesOf = (stdout: string): unknown[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

t.test('documents that fit, tombstones, unknown fields and null for what may be missing are no findings', async (t) => {
  const store = await storeWith(t, [
    ['entries', a.entry(2)._id, { duration: null, location: { city: null, other: 1 }, __v: 0 }],
  ])
  await store.remove('entries', A, [a.entry(1)._id])
  t.match(await tryCommand(checkCommand, store, []), { code: 0, stdout: '', output: /^All documents fit: \d{2,}\n$/ })
})

t.test('a key with a wrong value is a finding, and null is one where such a key is refused', async (t) => {
  const keyOf = async (fields: object) => {
    const store = await storeWith(t)
    const [key] = await store.dangerouslyFindAll('apiKeys', {})
    await store.update('apiKeys', String(key?._id), fields)
    const { code, stdout } = await tryCommand(checkCommand, store, [])
    return [code, ...linesOf(stdout).map((line) => (line as { errors: string[] }).errors)]
  }
  t.same(await keyOf({ expiresAt: null, revokedAt: null, lastUsedAt: null, other: null }), [0])
  t.same(await keyOf({ without: null }), [1, ['without: expected array']])
  t.same(await keyOf({ without: [] }), [1, ['without: expected array length to be greater or equal to 1']])
  t.same(await keyOf({ without: ['names'] }), [1, ['without.0: must be one of personal, places']])
  t.same(await keyOf({ successor: null, issuedBy: 5 }), [
    1,
    ['issuedBy: expected string', 'successor: expected string'],
  ])
})

const RESERVED_OR_CONTROL = 'id: must not be checkpoint, and must not contain control characters'

t.test('ids that no feed can show, or that mean something else in it, do not fit', async (t) => {
  const store = await storeWith(t)
  await store.insert('users', [
    { ...a.user, _id: 'checkpoint' },
    { ...a.user, _id: 'checkpoint1' },
    { ...a.user, _id: 5 as never },
  ])
  const tombstone = { _id: 'x\ufffd', deletedFrom: A, deletedAt: new Date() }
  const broken: Store = {
    ...store,
    async *dangerouslyReadAll(name) {
      if (name === 'entries') {
        yield [
          { document: { ...a.entry(5), _id: 'x\ufffd', answers: [], changedAt: new Date(0) }, isIdBroken: true },
          { document: tombstone, isIdBroken: true },
        ]
      }
      yield* store.dangerouslyReadAll(name)
    },
  }
  const { stdout } = await tryCommand(checkCommand, broken, [])
  const errors = ['id: is not valid UTF-8']
  t.same(
    linesOf(stdout).sort((x, y) => JSON.stringify(x).localeCompare(JSON.stringify(y))),
    [
      { collection: 'entries', id: 'x\ufffd', organisation: A, errors },
      { collection: 'entries', id: 'x\ufffd', organisation: A, errors },
      { collection: 'users', id: '5', organisation: A, errors: ['id: expected string'] },
      { collection: 'users', id: 'checkpoint', organisation: A, errors: [RESERVED_OR_CONTROL] },
    ],
  )
})

t.test('an id with a control character does not fit, also where another record refers to it', async (t) => {
  const store = await storeWith(t, [['entries', a.entry(2)._id, { agent: 'x\0' }]])
  await store.insert('users', [{ ...a.user, _id: 'user\n' }])
  const { stdout } = await tryCommand(checkCommand, store, [])
  t.same(linesOf(stdout), [
    { collection: 'users', id: 'user\n', organisation: A, errors: [RESERVED_OR_CONTROL] },
    { collection: 'entries', id: 'entry2-a', organisation: A, errors: ['agent: must not contain control characters'] },
  ])
})

t.test('each document that does not fit is a line that names it and what is wrong', async (t) => {
  const store = await storeWith(t, [
    ['entries', a.entry(2)._id, { answers: [{ type: 5, question: 'x' }], updatedAt: '2025-01-01T00:00:00Z' }],
    ['dispatches', a.dispatch(1)._id, { dispatchType: 'other' }],
    ['forms', a.form._id, { changedAt: 'now' }],
    ['organisations', A, { name: 5 }],
    ['projects', a.project(1)._id, { organisation: 5 }],
    ['agents', a.agent(1)._id, { deletedFrom: A }],
    ['users', a.user._id, Object.fromEntries(['status', 'firstName', 'lastName'].map((name) => [name, 1]))],
  ])
  await store.remove('entries', A, [a.entry(1)._id])
  await store.update('entries', a.entry(1)._id, { deletedAt: 'now' } as never)
  const { code, stdout, output } = await tryCommand(checkCommand, store, [])
  t.equal(code, 1)
  t.match(output, /^Documents that do not fit: 8 of \d+$/m)
  const dates = 'must be a BSON date, from the year 0001 to 9999 in UTC'
  t.same(
    linesOf(stdout).sort((x, y) => JSON.stringify(x).localeCompare(JSON.stringify(y))),
    [
      { collection: 'agents', id: a.agent(1)._id, organisation: A, errors: ['deletedFrom: must not be in a record'] },
      {
        ...{ collection: 'dispatches', id: 'dispatch1-a', organisation: A },
        errors: ['dispatchType: must be one of basic, prefilled, hybrid, survey'],
      },
      { collection: 'entries', id: 'entry1-a', organisation: A, errors: [`deletedAt: ${dates}`] },
      {
        ...{ collection: 'entries', id: 'entry2-a', organisation: A },
        errors: ['answers.0.type: expected string', `updatedAt: ${dates}`],
      },
      { collection: 'forms', id: 'form-a', organisation: A, errors: [`changedAt: ${dates}`] },
      { collection: 'organisations', id: A, errors: ['name: expected string'] },
      { collection: 'projects', id: 'project1-a', organisation: '5', errors: ['organisation: expected string'] },
      {
        ...{ collection: 'users', id: 'user-a', organisation: A },
        errors: ['status: expected string', 'firstName: expected string', 'lastName: expected string'],
      },
    ],
  )
  const { stdout: others } = await tryCommand(checkCommand, store, ['--no-stamps', '--json'])
  t.equal(linesOf(others).length, 7, 'all but the form without a stamp')
})

t.test('a stamp that has not come yet is a finding, because no feed shows the record', async (t) => {
  const store = await storeWith(t, [
    ['forms', a.form._id, { changedAt: new Date('9999-12-31T00:00:00Z') }],
    ['users', a.user._id, { changedAt: new Date((await testStore(t).now()).now) }],
  ])
  const { code, stdout } = await tryCommand(checkCommand, store, [])
  t.equal(code, 1)
  const errors = ['changedAt: is ahead of the database’s clock, and no feed shows the record until then']
  t.same(linesOf(stdout), [{ collection: 'forms', id: a.form._id, organisation: A, errors }])
  t.match(await tryCommand(checkCommand, store, ['--no-stamps']), { code: 0 })
})

t.test('a name that may not fit into a cursor is a finding, and the longest that does is none', async (t) => {
  const named = (name: string) =>
    storeWith(t, [
      ['dispatches', a.dispatch(1)._id, { name }],
      ['forms', a.form._id, { name }],
      ['projects', a.project(1)._id, { name }],
    ])
  const { stdout } = await tryCommand(checkCommand, await named('x'.repeat(251)), [])
  const errors = ['name: expected string length less or equal to 250']
  t.match(
    linesOf(stdout),
    ['forms', 'projects', 'dispatches'].map((collection) => ({ collection, errors })),
  )
  t.match(await tryCommand(checkCommand, await named('€'.repeat(250)), []), { code: 0 })
})

t.test('a document that cannot be read is a finding, of many errors the first ten are listed', async (t) => {
  const answers = Array.from({ length: 30 }, () => 5)
  const store = await storeWith(t, [['entries', a.entry(2)._id, { answers }]])
  const damaged: Store = {
    ...store,
    async *dangerouslyReadAll(name) {
      if (name === 'entries') yield [{ error: 'bad length' }]
      yield* store.dangerouslyReadAll(name)
    },
  }
  const [first, second, ...others] = linesOf((await tryCommand(checkCommand, damaged, [])).stdout)
  t.same(first, { collection: 'entries', errors: ['cannot be read: bad length'] })
  t.equal((second as { errors: string[] }).errors.length, 10)
  t.same(others, [])
  t.match(await tryCommand(checkCommand, store, ['--bogus']), { code: 2, output: "Unknown option '--bogus'" })
})
