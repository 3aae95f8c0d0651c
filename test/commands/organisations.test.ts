// The command that adds, lists, renames and removes organisations.
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { checkCommand } from '../../src/commands/check.js'
import { keysCommand } from '../../src/commands/keys.js'
import { organisationsCommand } from '../../src/commands/organisations.js'
import { type OrganisationDocument, recordCollections } from '../../src/documents/collections.js'
import { keysOf } from '../../src/keys/keys.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../src/store/store.js'
import { tryCommand } from '../support/command.js'
import { testStore, withoutUpdates } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

const prepare = (t: Test) => {
  const store = testStore(t)
  return { store, organisations: (...argv: string[]) => tryCommand(organisationsCommand, store, argv) }
}

t.test('an organisation is added and listed, and keys can be issued for it', async (t) => {
  const { store, organisations } = prepare(t)
  const added = await organisations('add', '--name', 'Rural Water', '--json')
  t.equal(added.code, 0)
  const { id, name, createdAt } = JSON.parse(added.stdout)
  t.match(id, /^[0-9a-f]{24}$/)
  t.same(await store.dangerouslyFind('organisations', id), {
    ...{ _id: id, name: 'Rural Water' },
    ...{ createdAt: new Date(createdAt), updatedAt: new Date(createdAt) },
  })
  t.same(JSON.parse((await organisations('list', '--json')).stdout), [{ id, name, createdAt }])
  t.match(await tryCommand(keysCommand, store, ['issue', '--organisation', id, '--name', 'Sync']), { code: 0 })
})

t.test('an organisation may be given an id, once', async (t) => {
  const { store, organisations } = prepare(t)
  const added = await organisations('add', '--name', 'Health Watch', '--id', 'health')
  t.equal(added.code, 0)
  t.equal(
    added.stdout,
    'Added organisation health\nIssue a key for it with: npx field-data-api keys issue --organisation health --name NAME\n',
  )
  t.match(await organisations('add', '--name', 'Other', '--id', 'health'), {
    code: 1,
    output: /^Organisation health exists already\n$/,
  })
  t.match(await store.dangerouslyFind('organisations', 'health'), { name: 'Health Watch' })
})

t.test('the list is a table in the order of the names, even if other programs stored odd values', async (t) => {
  const { store, organisations } = prepare(t)
  await organisations('add', '--name', 'Water', '--id', 'w')
  await organisations('add', '--name', 'Health', '--id', 'h')
  await store.insert('organisations', [{ _id: 'x', name: { odd: true }, createdAt: 'once\u001b' } as never])
  const { stdout } = await organisations('list')
  t.match(stdout, /^id {2}name +createdAt\nh {3}Health +\S+Z\nx {3}- +once\\u001b\nw {3}Water +\S+Z\n$/)
})

t.test('a wrong call says what is wrong', async (t) => {
  const { store, organisations } = prepare(t)
  for (const [argv, message] of [
    [[], 'Usage: organisations [options] [command]'],
    [['delete'], "Unknown command 'delete'"],
    [['add'], "Required option '--name <NAME>' not specified"],
    [['add', '--name', 'a\u0007'], 'must be 1 to 100 characters'],
    [['add', '--name', 'x', '--id', '$x'], 'must be 1 to 100 letters'],
    [['add', '--name', 'x', '--id', ''], 'must be 1 to 100 letters'],
    [['list', '--name', 'x'], "Unknown option '--name'"],
  ] as const) {
    const { code, output } = await organisations(...argv)
    t.equal(code, 2, message)
    t.match(output, message)
    t.match(output, 'Usage: organisations')
  }
  t.same(await store.dangerouslyFindAll('organisations', {}), [])
})

t.test('an organisation is renamed and keeps its id', async (t) => {
  const { store, organisations } = prepare(t)
  await organisations('add', '--name', 'Water', '--id', 'w')
  const renamed = await organisations('rename', 'w', '--name', 'Rural Water', '--by', 'Ana', '--json')
  t.match(renamed.output, /"action":"organisations rename","by":"Ana","organisation":"w","name":"Rural Water"\}\n$/)
  t.same(JSON.parse(renamed.stdout), { id: 'w', name: 'Rural Water' })
  const found = await store.dangerouslyFind('organisations', 'w')
  t.match(found, { _id: 'w', name: 'Rural Water', updatedAt: Date })
  t.ok(Number(found?.updatedAt) >= Number(found?.createdAt))
  t.match(await organisations('add', '--name', 'Health', '--id', 'h'), { output: /^(?!.*Warning)/s })
  t.match(await organisations('rename', 'w', '--name', 'Rural Water'), { output: /^(?!.*Warning)/s })
  t.match(await organisations('rename', 'x', '--name', 'X'), { code: 1, output: 'Organisation x does not exist\n' })
  t.same(await store.dangerouslyFind('organisations', 'x'), undefined)
})

t.test('a name that another organisation has is allowed, with a warning that names it', async (t) => {
  const { organisations } = prepare(t)
  await organisations('add', '--name', 'Water', '--id', 'w')
  const added = await organisations('add', '--name', 'Water', '--id', 'w2', '--json')
  t.match(added, { code: 0, output: '\nWarning: other organisations have this name: w\n{' })
  t.match(JSON.parse(added.stdout), { id: 'w2' })
  await organisations('add', '--name', 'Health', '--id', 'h')
  t.match(await organisations('rename', 'h', '--name', 'Water'), {
    ...{ code: 0, output: '\nWarning: other organisations have this name: w, w2\n{' },
  })
})

/** The organisations A and B, each with a key that works, and A with a revoked key and two deletions. */
const filled = async (t: Test) => {
  const store = testStore(t)
  await fillTenants(store)
  await store.remove('entries', A, [a.entry(1)._id, a.entry(2)._id])
  const keys = keysOf(withoutUpdates(store), () => {})
  const issue = (organisation: string) => keys.issue({ organisation, name: 'Test' })
  const [ofA, ofB, revoked] = [await issue(A), await issue(B), await issue(A)]
  await tryCommand(keysCommand, store, ['revoke', revoked, '--by', 'Ben'])
  const verify = async (key: string) => (await keysOf(withoutUpdates(store), () => {}).verify(key)) as object
  return { store, ofA, ofB, verify }
}

/** How many documents of an organisation there are, of all kinds. */
const left = async (store: Store, organisation: string): Promise<number> => {
  let count = (await store.dangerouslyFindAll('organisations', { _id: organisation })).length
  for (const name of recordCollections) {
    for (const field of ['organisation', 'deletedFrom']) {
      count += (await store.dangerouslyFindAll(name, { [field]: organisation })).length
    }
  }
  return count
}

t.test('an organisation is removed once its name is typed, with its records, and nothing of another one', async (t) => {
  const { store, ofA, ofB, verify } = await filled(t)
  const [ofABefore, ofBBefore] = [await left(store, A), await left(store, B)]
  await store.insert('users', [{ ...a.user, _id: 'shared', organisation: [A, B] as never }])
  const waits: number[] = []
  const whileWaiting = async (ms: number) => {
    waits.push(ms)
    t.match(await verify(ofA), { refused: 'revoked' })
    t.equal(await left(store, A), ofABefore + 1, 'nothing is deleted while an instance may accept a key')
  }
  const remove = (answer?: string) =>
    tryCommand(organisationsCommand, store, ['remove', A, '--by', 'Ana'], answer, whileWaiting)
  const asked =
    /^Organisation \S+ has:\n {2}users: 2\n(?:.*\n)* {2}deletions: 2\n {2}keys: 1\nType Organisation A to remove/
  t.match(await remove('Organisation B\n'), { code: 1, output: asked })
  t.match((await remove('Organisation B\n')).output, 'That is another name: nothing was removed\n')
  t.match((await remove('')).output, 'There was no answer\n')
  t.match(await remove(), { code: 1, output: 'There is no terminal to ask on: use --yes\n' })
  t.match(await verify(ofA), { organisation: A })

  const { code, output, stdout } = await remove('Organisation A\n')
  t.equal(code, 0)
  t.match(
    stdout,
    /^Revoked 1 keys\nDeleted 4 records and tombstones from entries\n(?:.*\n)*Deleted 1 records .* users\nRemoved organisation \S+\n$/,
  )
  t.match(output, /"action":"organisations remove","by":"Ana","organisation":"[^"]+","deleted":/)
  t.match(
    output,
    /remove all of it: \{.*"action":"organisations remove begins","by":"Ana",.*\}\n\{.*"action":"keys revoke","by":"Ana",.*\}\nWaiting 30 seconds, until every instance/,
  )
  t.same(waits, [30_000])
  t.match(await verify(ofA), { refused: 'organisation_gone' })
  t.match(await verify(ofB), { organisation: B })
  t.equal(await left(store, A), 1, 'but for the record of nobody')
  t.equal(await left(store, B), ofBBefore + 1)
  t.same((await store.dangerouslyFindAll('apiKeys', { organisation: A })).map(({ revokedBy }) => revokedBy).sort(), [
    'Ana',
    'Ben',
  ])
  t.match(await tryCommand(checkCommand, store, []), { stdout: /^\{"collection":"users","id":"shared",.*\}\n$/ })
})

t.test('a removal that was interrupted goes on when it is run again', async (t) => {
  const { store, ofA, verify } = await filled(t)
  const away: Store = {
    ...store,
    dangerouslyErase: (name, condition) => {
      if (name === 'forms') throw new StoreUnavailable(new Error('away'))
      return store.dangerouslyErase(name, condition)
    },
  }
  const interrupted = await tryCommand(organisationsCommand, away, ['remove', A, '--yes'])
  t.match(interrupted, { code: 1, output: 'away' })
  t.match(interrupted.output, `"action":"organisations remove begins","organisation":"${A}"}`)
  t.match(interrupted.output, `"action":"keys revoke","keyId":"${ofA.slice(4, 16)}","organisation":"${A}"}`)
  const { removingSince } = (await store.dangerouslyFind('organisations', A)) as OrganisationDocument
  t.match(await verify(ofA), { refused: 'revoked' })
  t.match((await tryCommand(organisationsCommand, store, ['list'])).stdout, new RegExp(`removingSince\n${A} .*Z .*Z\n`))
  const again = (pause: (ms: number) => Promise<unknown>) =>
    tryCommand(organisationsCommand, store, ['remove', A, '--yes', '--json'], undefined, pause)
  const keys = await store.dangerouslyFindAll('apiKeys', { organisation: A })
  const since = (ms: number) =>
    Promise.all(keys.map(({ _id }) => store.update('apiKeys', _id, { revokedAt: new Date(Date.now() - ms) })))
  for (const [ms, least, most] of [
    [10_000, 15_000, 20_000],
    [-60_000, 30_000, 30_000],
  ] as const) {
    await since(ms)
    const stopped = await again(async (waitMs) => {
      t.ok(waitMs >= least && waitMs <= most, `it waits for what is left, not ${waitMs} ms`)
      throw new StoreUnavailable(new Error('stopped'))
    })
    t.match(stopped, { code: 1, output: 'stopped' })
  }
  t.match(await store.dangerouslyFind('organisations', A), { removingSince }, 'its beginning is kept')
  await since(30_000)
  const { stdout } = await again(async () => t.fail('no instance accepts a key any more'))
  t.match(JSON.parse(stdout), { id: A, deleted: { entries: 0, forms: 1 }, keysRevoked: 0 })
  t.equal(await left(store, A), 0)
  t.match(await tryCommand(organisationsCommand, store, ['remove', A, '--yes']), {
    code: 1,
    output: `Organisation ${A} does not exist, and nothing is left of it\n`,
  })
})

t.test('an empty organisation is said to be empty, and a removal that finds nothing to do fails', async (t) => {
  const { store, organisations } = prepare(t)
  await organisations('add', '--name', 'Ghost', '--id', 'ghost')
  const remove = (answer?: string) => tryCommand(organisationsCommand, store, ['remove', 'ghost'], answer)
  t.match((await remove('Other\n')).output, /^Organisation ghost has no records and no keys that work\nType Ghost to/)
  t.match(await remove('Ghost\n'), { code: 0, stdout: 'Removed organisation ghost\n' })
  const failed = { code: 1, stdout: '', output: 'Organisation ghost does not exist, and nothing is left of it\n' }
  t.same(await organisations('remove', 'ghost', '--yes'), failed)
  await store.insert('users', [{ ...a.user, organisation: ['ghost', A] as never }])
  const { output, ...others } = await organisations('remove', 'ghost', '--yes')
  t.match(others, { code: 1, stdout: '' }, 'what belongs to nobody is left alone')
  t.match(output, /^Organisation ghost has:\n {2}users: 1\n\{.*remove begins.*\}\n.*nothing is left of it\n$/)
})

t.test('whenever a key is issued or rotated beside a removal, none works afterwards', async (t) => {
  const { store, ofA } = await filled(t)
  const keys = (...argv: string[]) => tryCommand(keysCommand, store, argv)
  const refused = `Organisation ${A} does not exist or is being removed: it gets no key\n`
  const whileWaiting = async () => {
    t.match(await keys('issue', '--organisation', A, '--name', 'Late'), { code: 1, stdout: '', output: refused })
    t.match(await keys('rotate', ofA), { code: 1, stdout: '' })
  }
  /** Removes the organisation before or after a key is stored. */
  const removing = (target: Store, order: 'before' | 'after'): Store => ({
    ...target,
    insert: async (...call) => {
      const remove = () => tryCommand(organisationsCommand, target, ['remove', A, '--yes'])
      if (order === 'before') await remove()
      await target.insert(...call)
      if (order === 'after') await remove()
    },
  })
  await tryCommand(organisationsCommand, store, ['remove', A, '--yes'], undefined, whileWaiting)
  t.match(await keys('issue', '--organisation', A, '--name', 'Late'), { code: 1, stdout: '' })
  for (const order of ['before', 'after'] as const) {
    for (const argv of [['issue', '--organisation', A, '--name', 'Late'], ['rotate']]) {
      const { store, ofA } = await filled(t)
      const call = argv[0] === 'rotate' ? ['rotate', ofA] : argv
      const beside = await tryCommand(keysCommand, removing(store, order), call)
      t.same(beside, { code: 1, stdout: '', output: refused }, `${call[0]}, removed ${order} it is stored`)
      t.match(await tryCommand(checkCommand, store, []), { code: 0 })
      await tryCommand(organisationsCommand, store, ['add', '--name', 'Other', '--id', A])
      const left = await store.dangerouslyFindAll('apiKeys', { organisation: A })
      t.same(
        left.filter(({ revokedAt }) => !revokedAt),
        [],
        'no key works if the id is used again',
      )
    }
  }
})

t.test('a key that is issued before a removal asks is revoked, and has its audit line', async (t) => {
  const { store, verify } = await filled(t)
  let key = ''
  const late: Store = {
    ...store,
    update: async (name, ...rest) => {
      if (name === 'organisations') key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Late' })
      return store.update(name, ...rest)
    },
  }
  const { code, output } = await tryCommand(organisationsCommand, late, ['remove', A, '--yes'])
  t.match({ code, output }, { code: 0, output: 'Revoked 2 keys\n' })
  t.match(output, `"action":"keys revoke","keyId":"${key.slice(4, 16)}"`)
  t.match(await verify(key), { refused: 'organisation_gone' })
  await tryCommand(organisationsCommand, store, ['add', '--name', 'Other', '--id', A])
  t.match(await verify(key), { refused: 'revoked' })
})

t.test('a key that another command revokes in the same moment has no second audit line', async (t) => {
  const { store, ofA } = await filled(t)
  const keyId = ofA.slice(4, 16)
  const beside: Store = {
    ...store,
    update: async (name, id, ...rest) => {
      if (id === keyId) await keysOf(store, () => {}).revoke(keyId, 'Ben')
      return store.update(name, id, ...rest)
    },
  }
  const { code, output } = await tryCommand(organisationsCommand, beside, ['remove', A, '--yes'])
  t.equal(code, 0)
  t.match(output, '"action":"organisations remove",')
  t.notMatch(output, '"action":"keys revoke"')
})

t.test('an organisation that was added again while a removal waited is left alone', async (t) => {
  const { store } = await filled(t)
  const whileWaiting = async () => {
    await tryCommand(organisationsCommand, store, ['remove', A, '--yes'])
    await tryCommand(organisationsCommand, store, ['add', '--name', 'Other', '--id', A])
    await store.insert('users', [a.user])
  }
  t.match(await tryCommand(organisationsCommand, store, ['remove', A, '--yes'], undefined, whileWaiting), {
    ...{ code: 1, stdout: '' },
    output: `Organisation ${A} was added again meanwhile: nothing of it was deleted\n`,
  })
  t.equal(await left(store, A), 2)
})

t.test(
  'an organisation that was added again while a removal asked, or renamed one that was removed, is left alone',
  async (t) => {
    const { store } = await filled(t)
    const again = async () => {
      await tryCommand(organisationsCommand, store, ['remove', A, '--yes'])
      await setTimeout(1)
      await tryCommand(organisationsCommand, store, ['add', '--name', 'Other', '--id', A])
      await store.insert('users', [a.user])
    }
    /** A store in which something else happens before the next update. */
    const before = (happen: () => Promise<unknown>): Store => {
      let todo = [happen]
      return {
        ...store,
        update: async (...call) => {
          const [first] = todo
          todo = []
          await first?.()
          return store.update(...call)
        },
      }
    }
    const removed = await tryCommand(organisationsCommand, before(again), ['remove', A, '--yes'])
    t.match(removed, { code: 1, output: `\nOrganisation ${A} was removed meanwhile: nothing of it was deleted\n` })
    t.equal(await left(store, A), 2)
    t.match(await store.dangerouslyFind('organisations', A), { removingSince: undefined })
    const remove = () => tryCommand(organisationsCommand, store, ['remove', A, '--yes'])
    const renamed = await tryCommand(organisationsCommand, before(remove), ['rename', A, '--name', 'New'])
    t.match(renamed, { code: 1, stdout: '', output: `Organisation ${A} was removed meanwhile\n` })
  },
)

t.test('what takes too long to count is removed all the same', async (t) => {
  const { store } = await filled(t)
  const slow: Store = {
    ...store,
    count: (query) => (query.collection === 'entries' ? Promise.reject(new QueryTimeout('slow')) : store.count(query)),
  }
  t.match(await tryCommand(organisationsCommand, slow, ['remove', A, '--yes']), {
    code: 0,
    output:
      /^Organisation \S+ has:\n(.*\n)* {2}entries: too many to count\n {2}deletions: too many to count\n {2}keys: 1\n/,
  })
  t.equal(await left(store, A), 0)
  const failing: Store = { ...store, count: () => Promise.reject(new StoreUnavailable(new Error('gone'))) }
  t.match(await tryCommand(organisationsCommand, failing, ['remove', B, '--yes']), { code: 1, output: 'gone' })
})

t.test('what is written after a removal is found, and removed by its id', async (t) => {
  const { store } = await filled(t)
  await tryCommand(organisationsCommand, store, ['remove', A, '--yes'])
  await store.insert('forms', [a.form])
  await store.insert('users', [a.user])
  await store.remove('users', A, [a.user._id])
  const [key] = await store.dangerouslyFindAll('apiKeys', { organisation: A, revokedBy: null }, 1)
  await store.update('apiKeys', String(key?._id), { revokedAt: null })
  const { stdout } = await tryCommand(checkCommand, store, [])
  const lines = stdout.trim().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line)),
    ['users', 'forms', 'apiKeys'].map((collection) => ({
      ...{ collection, organisation: A },
      errors: ['organisation: does not exist'],
    })),
  )
  t.equal(lines.length, 3)
  const removed = await tryCommand(organisationsCommand, store, ['remove', A], `${A}\n`)
  t.match(removed, { code: 0, output: `  forms: 1\n  deletions: 1\n  keys: 1\nType ${A} to remove all of it: ` })
  t.match(await tryCommand(checkCommand, store, []), { code: 0 })
})
