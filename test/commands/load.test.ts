// The command that loads real data: all of a file or nothing of it.
import t from 'tap'
import { loadCommand } from '../../src/commands/load.js'
import { recordCollections } from '../../src/documents/collections.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { tryCommand } from '../support/command.js'
import { entry, fileWith, intoEntries, line, organisation, prepareLoad } from '../support/load.js'
import { a } from '../support/tenants.js'

t.test('records of a file are served as they were written', async (t) => {
  const { load, store } = await prepareLoad(t)
  t.match(await load([line(), line({ _id: 'second' })].join('\n'), ...intoEntries, '--json'), {
    code: 0,
    stdout: '"written": 2',
  })
  const { get } = await testApp(t, { store })
  const { data, _metadata } = (await get('/v1/entries', organisation)).json()
  t.equal(_metadata.total, 2)
  t.match(data[0], { id: entry._id, createdAt: entry.createdAt.toISOString(), answers: entry.answers })
})

t.test('the first and the last date, and every character of Unicode, are served as they were written', async (t) => {
  const { load, store } = await prepareLoad(t)
  const status = 'a\ufffdb\u2028c\u2029d\u0085e\rf'
  const text = line({ status, createdAt: '0001-01-01T13:00:00+13:00', updatedAt: '9999-12-31T23:59:59.999Z' })
  t.match(await load(text, ...intoEntries), { code: 0, stdout: 'Wrote 1 to entries' })
  const { get } = await testApp(t, { store })
  t.match((await get('/v1/entries', organisation)).json().data, [
    { status, createdAt: '0001-01-01T00:00:00.000Z', updatedAt: '9999-12-31T23:59:59.999Z' },
  ])
})

t.test('attachments may hold any JSON, and are served as they were written', async (t) => {
  const { load, store } = await prepareLoad(t)
  const attachment = JSON.parse(`{"a":"😀","b":[null,true,${'['.repeat(90)}${']'.repeat(90)}]}`)
  const dispatch = { ...a.dispatch(1), instructions: { attachments: [attachment] } }
  const target = ['--collection', 'dispatches', '--organisation', organisation]
  t.match(await load(JSON.stringify(dispatch), ...target), { code: 0, stdout: 'Wrote 1 to dispatches' })
  const { get } = await testApp(t, { store })
  const { instructions } = (await get(`/v1/dispatches/${dispatch._id}`, organisation)).json().data
  t.same(instructions.attachments, [attachment])
})

t.test('the longest name can be the position of a walk, and a longer one is not loaded', async (t) => {
  const { load, store } = await prepareLoad(t)
  const target = ['--collection', 'projects', '--organisation', organisation]
  const lines = (name: string) => ['p1', 'p2'].map((_id) => JSON.stringify({ ...a.project(1), _id, name })).join('\n')
  t.match(await load(lines('€'.repeat(251)), ...target), { code: 1, output: /^line 1: name: .* 250$/m })
  t.match(await load(lines('€'.repeat(250)), ...target), { code: 0 })
  const { get } = await testApp(t, { store })
  const walk = '/v1/projects?sortBy=name&perPage=1&cursor='
  const { nextCursor } = (await get(`${walk}*`, organisation)).json()._metadata
  t.match((await get(`${walk}${nextCursor}`, organisation)).json(), { data: [{ id: 'p2' }] })
})

t.test('a file with an invalid line changes nothing, and its invalid lines are listed', async (t) => {
  const { load, store } = await prepareLoad(t)
  await store.insert('entries', [{ ...entry, _id: 'taken', organisation, duration: 999 }])
  const { code, output } = await load([line(), '[]', line({ _id: 'taken' }), line()].join('\n'), ...intoEntries)
  t.equal(code, 1)
  t.same(output.split('\n'), [
    'line 2: is not a JSON object',
    'line 3: id: taken already exists in entries as another record; use --upsert to replace it',
    `line 4: id: ${entry._id} is already in line 1`,
    'Nothing was written. Invalid lines: 3 of 4',
    '',
  ])
  t.equal((await store.dangerouslyFindAll('entries', {})).length, 1)
})

t.test('an organisation that does not exist is an error that says how to add it', async (t) => {
  const { load, store } = await prepareLoad(t)
  t.match(await load(line(), '--collection', 'entries', '--organisation', 'unknown'), {
    code: 1,
    output:
      /^Organisation unknown does not exist\nAdd it with: npx field-data-api organisations add --id unknown --name NAME\nList those/,
  })
  t.same(await store.dangerouslyFindAll('entries', {}), [])
})

t.test('more lines than fit into a batch are written', async (t) => {
  const { load } = await prepareLoad(t)
  const many = Array.from({ length: 1500 }, (_, i) => line({ _id: `entry-${i}` })).join('\n')
  t.match(await load(many, ...intoEntries), { code: 0, stdout: 'Wrote 1500 to entries' })
})

t.test('long lines are written in small batches', async (t) => {
  const { store } = await prepareLoad(t)
  const sizes: number[] = []
  const counting: Store = {
    ...store,
    insert: (collection, documents, options) => {
      sizes.push(documents.length)
      return store.insert(collection, documents, options)
    },
  }
  const long = Array.from({ length: 12 }, (_, i) => line({ _id: `e${i}`, status: 'x'.repeat(1_000_000) })).join('\n')
  t.match(await tryCommand(loadCommand, counting, [fileWith(t, long), ...intoEntries]), { code: 0 })
  t.same(sizes, [9, 3])
})

t.test('a load that is interrupted says so, and continues when it is run again', async (t) => {
  const { store } = await prepareLoad(t)
  const file = fileWith(t, Array.from({ length: 2500 }, (_, i) => line({ _id: `e${i}` })).join('\n'))
  let inserts = 0
  const failing: Store = {
    ...store,
    insert: async (...args) => {
      inserts += 1
      if (inserts === 3) throw new StoreUnavailable(new Error('gone'))
      return store.insert(...args)
    },
  }
  t.match(await tryCommand(loadCommand, failing, [file, ...intoEntries]), {
    code: 1,
    output: /^Interrupted \(lines written: 2000 of 2500\): The database cannot be reached\nRun it again to continue/m,
  })
  t.match(await tryCommand(loadCommand, store, [file, ...intoEntries]), {
    code: 0,
    stdout: 'Wrote 500 to entries; 2000 already there',
  })
  const third = await tryCommand(loadCommand, store, [file, ...intoEntries, '--json'])
  t.same(JSON.parse(third.stdout), {
    ...{ collection: 'entries', organisation, written: 0, present: 2500 },
    missingReferences: 10_000,
  })
})

t.test('a load that is told to stop says what was written', async (t) => {
  const { store } = await prepareLoad(t)
  const file = fileWith(t, Array.from({ length: 2500 }, (_, i) => line({ _id: `e${i}` })).join('\n'))
  const controller = new AbortController()
  const stopping: Store = {
    ...store,
    insert: async (...args) => {
      controller.abort()
      return store.insert(...args)
    },
  }
  const load = (store: Store) =>
    tryCommand(loadCommand, store, [file, ...intoEntries], undefined, undefined, controller.signal)
  t.match(await load(stopping), {
    code: 1,
    output: /^Interrupted \(lines written: 1000 of 2500\): it was told to stop\nRun it again to continue/m,
  })
  t.match(await load(store), { code: 1, output: /^Interrupted: nothing was written\n/m })
})

t.test('a file that cannot be read or has no lines is an error', async (t) => {
  const { load, store } = await prepareLoad(t)
  const from = (file: string) => tryCommand(loadCommand, store, [file, ...intoEntries])
  t.match(await from('nowhere.ndjson'), { code: 1, output: 'nowhere.ndjson cannot be read: ENOENT' })
  t.match(await from(t.testdir({})), { code: 1, output: 'is not a regular file: it is read twice' })
  t.match(await load('\n \n', ...intoEntries), { code: 1, output: 'has no lines' })
  await store.update('organisations', organisation, { removingSince: new Date() })
  t.match(await load('{}', ...intoEntries), { code: 1, output: `Organisation ${organisation} is being removed\n` })
})

t.test('an error of the database is not taken for an error of the file', async (t) => {
  const { store } = await prepareLoad(t)
  const file = fileWith(t, line())
  const broken: Store = { ...store, dangerouslyFindAll: () => Promise.reject(new StoreUnavailable(new Error('gone'))) }
  t.match(await tryCommand(loadCommand, broken, [file, ...intoEntries]), {
    code: 1,
    output: 'The database cannot be reached: gone',
  })
  const odd: Store = { ...store, dangerouslyFindAll: () => Promise.reject(new Error('Unexpected')) }
  t.match(await tryCommand(loadCommand, odd, [file, ...intoEntries]), { code: 1, output: /^Error: Unexpected\n +at / })
})

t.test('a wrong call says what is wrong', async (t) => {
  const { load } = await prepareLoad(t)
  t.match(await load('', '--collection', 'apiKeys', '--organisation', 'x'), {
    code: 2,
    output: new RegExp(`'apiKeys' is invalid: Allowed choices are ${recordCollections.join(', ')}\\n`),
  })
  t.match(await load('', 'second', ...intoEntries), {
    code: 2,
    output: 'Too many arguments. Expected 1 argument but got 2\n',
  })
  t.match(await load('', '--organisation', 'x'), {
    code: 2,
    output: "Required option '--collection <NAME>' not specified",
  })
  t.match(await load('', '--collection', 'entries', '--organisation', '$x'), {
    code: 2,
    output: "Option '--organisation <ID>' argument '$x' is invalid: it must be",
  })
})

t.test('of thousands of invalid lines the first 100 are listed and all are counted', async (t) => {
  const { load } = await prepareLoad(t)
  const { output } = await load('[]\n'.repeat(3000), ...intoEntries)
  t.equal(output.match(/^line /gm)?.length, 100)
  t.match(output, 'Nothing was written. Invalid lines: 3000 of 3000')
})

t.test('what is reported about a line is short, and has no control characters', async (t) => {
  const { load } = await prepareLoad(t)
  const id = `\u2066\u202e${'x'.repeat(498)}`
  const { output } = await load([line({ _id: id }), line({ _id: id }), '\u001b[2J'].join('\n'), ...intoEntries)
  t.match(output, /^line 2: id: \\u2066\\u202ex{400,500}.*\nline 3: is not valid JSON: [\n -~]+$/)
})

const stored = async (store: Store) =>
  Object.fromEntries((await store.dangerouslyFindAll('entries', {})).map((document) => [document._id, document])) as {
    [id: string]: Record<string, unknown>
  }

const deletion = (id: string) => JSON.stringify({ id })

t.test(
  'with --upsert a line adds its record or replaces it, and a record that is the same stays unchanged',
  async (t) => {
    const { load, store } = await prepareLoad(t)
    await load([line({ _id: 'changed' }), line({ _id: 'same' }), line({ _id: 'deleted' })].join('\n'), ...intoEntries)
    await store.remove('entries', organisation, ['deleted'])
    const before = await stored(store)
    const { duration, ...rest } = entry
    const changes = [
      JSON.stringify({ ...rest, _id: 'changed', status: 'rejected' }),
      line({ _id: 'same' }),
      line({ _id: 'new' }),
      line({ _id: 'deleted' }),
    ].join('\n')
    t.match(await load(changes, ...intoEntries, '--upsert'), {
      code: 0,
      stdout: 'Wrote 3 to entries; 1 already there',
    })
    const after = await stored(store)
    t.same(Object.keys(after).sort(), ['changed', 'deleted', 'new', 'same'])
    t.match(after.changed, { status: 'rejected', organisation })
    t.notOk('duration' in (after.changed as object), 'the record is replaced as a whole')
    t.same(after.same, before.same, 'it is not stamped again')
    t.match(after.deleted, { organisation, changedAt: Date })
    t.match(await load(changes, ...intoEntries, '--upsert', '--json'), {
      stdout: /"written": 0,\n {2}"present": 4,/,
    })
  },
)

t.test('a record without a change stamp is written again, even if its line is the same', async (t) => {
  for (const mode of [[], ['--upsert']]) {
    const { load, store } = await prepareLoad(t)
    const lines = [line({ _id: 'unstamped' }), line({ _id: 'array' }), line({ _id: 'stamped' })]
    await load(lines.join('\n'), ...intoEntries)
    await store.update('entries', 'unstamped', { changedAt: null } as never)
    await store.update('entries', 'array', { changedAt: [new Date()] } as never)
    const before = await stored(store)
    const text = [...lines, line({ _id: 'new' })].join('\n')
    t.match(await load(text, ...intoEntries, ...mode), { code: 0, stdout: 'Wrote 3 to entries; 1 already there' })
    const after = await stored(store)
    for (const id of ['unstamped', 'array', 'new']) t.match(after[id], { organisation, changedAt: Date }, id)
    t.same(after.stamped, before.stamped)
    t.match(await load(text, ...intoEntries, ...mode), { stdout: 'Wrote 0 to entries; 4 already there' })
  }
})

t.test('with --delete the records of the lines are deleted, and can be loaded again', async (t) => {
  const { load, store } = await prepareLoad(t)
  await load([line({ _id: 'first' }), line({ _id: 'second' }), line({ _id: 'kept' })].join('\n'), ...intoEntries)
  const ids = ['first', 'never', 'second'].map(deletion).join('\n')
  t.match(await load(ids, ...intoEntries, '--delete'), {
    code: 0,
    output: [
      `line 2: id: ${organisation} has no never in entries`,
      `Ids that ${organisation} never had: 1`,
      'Deleted 2 from entries',
      '',
    ].join('\n'),
  })
  const { get } = await testApp(t, { store })
  t.match((await get('/v1/entries', organisation)).json(), { data: [{ id: 'kept' }], _metadata: { total: 1 } })
  const again = await load(ids, ...intoEntries, '--delete', '--json')
  t.same(JSON.parse(again.stdout), {
    ...{ collection: 'entries', organisation },
    ...{ deleted: 0, unknown: 1, alreadyDeleted: 2 },
  })
  t.match(await load(line({ _id: 'first' }), ...intoEntries), { code: 0, stdout: 'Wrote 1 to entries' })
  t.match(await load(deletion('never'), ...intoEntries, '--delete', '--strict'), {
    code: 1,
    output: /^Nothing was written. Ids that .* never had: 1$/m,
  })
})

t.test('records and deletions of other organisations are never touched', async (t) => {
  const { load, store } = await prepareLoad(t)
  const foreign = { ...entry, organisation: 'other' }
  await store.insert('entries', [
    { ...foreign, _id: 'live' },
    { ...foreign, _id: 'dead' },
  ])
  await store.remove('entries', 'other', ['dead'])
  const before = await stored(store)
  for (const mode of [[], ['--upsert']]) {
    t.match(await load([line({ _id: 'live' }), line({ _id: 'dead' }), line()].join('\n'), ...intoEntries, ...mode), {
      code: 1,
      output:
        /^line 1: id: live belongs to another organisation\nline 2: id: dead belongs .*\nNothing was written.*: 2 of 3/,
    })
  }
  t.match(await load(['live', 'dead'].map(deletion).join('\n'), ...intoEntries, '--delete', '--json'), {
    code: 0,
    stdout:
      '{\n  "collection": "entries",\n  "organisation": "org-a",\n  "deleted": 0,\n  "unknown": 2,\n  "alreadyDeleted": 0\n}\n',
  })
  t.same(await stored(store), before)
})

t.test('changes and deletions with an invalid line change nothing', async (t) => {
  const { load, store } = await prepareLoad(t)
  await load(line(), ...intoEntries)
  const before = await stored(store)
  const { output } = await load([deletion(entry._id), line({ _id: 'x' }), '{}'].join('\n'), ...intoEntries, '--delete')
  t.match(output, /^line 2: \w+: is not a known field;.*\nline 3: id: is missing\nNothing was written.*: 2 of 3/)
  t.match(await load([line({ status: 'new' }), '{}'].join('\n'), ...intoEntries, '--upsert'), { code: 1 })
  t.same(await stored(store), before)
  t.match(await load(line(), ...intoEntries, '--delete', '--upsert'), {
    code: 2,
    output: "Option '--upsert' cannot be used with option '--delete'",
  })
})

t.test('changes and deletions that were interrupted continue when they are run again', async (t) => {
  const { store } = await prepareLoad(t)
  const ids = Array.from({ length: 2500 }, (_, i) => `e${i}`)
  for (const [mode, text, result] of [
    ['--upsert', ids.map((_id) => line({ _id })).join('\n'), 'Wrote 500 to entries; 2000 already there'],
    ['--delete', ids.map(deletion).join('\n'), 'Deleted 500 from entries'],
  ] as const) {
    const file = fileWith(t, text)
    let calls = 0
    const failing = <Arguments extends unknown[], T>(write: (...args: Arguments) => Promise<T>) => {
      return async (...args: Arguments) => {
        calls += 1
        if (calls === 3) throw new StoreUnavailable(new Error('gone'))
        return write(...args)
      }
    }
    const broken = { ...store, upsert: failing(store.upsert as never), remove: failing(store.remove) } as Store
    t.match(await tryCommand(loadCommand, broken, [file, ...intoEntries, mode]), {
      code: 1,
      output: /^Interrupted \(lines written: 2000 of 2500\): The database cannot be reached\nRun it again to continue/m,
    })
    t.match(await tryCommand(loadCommand, store, [file, ...intoEntries, mode]), { code: 0, stdout: result })
  }
})
