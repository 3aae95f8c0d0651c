// The command line that brings in real data: all of a file or nothing of it.
import { open } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { loadCommand } from '../../src/commands/load.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'
import { A, a, b, fillTenants, stolen } from '../support/tenants.js'

const { organisation, ...entry } = a.entry(1)

const prepare = async (t: Test) => {
  const store = testStore(t)
  const load = (text: string | Buffer, ...argv: string[]) => {
    const file = `${t.testdir({ 'file.ndjson': text })}/file.ndjson`
    return tryCommand(loadCommand, store, [file, ...argv])
  }
  return { load, store }
}

const entries = ['--collection', 'entries', '--organisation', organisation]
const line = (changes: object = {}) => JSON.stringify({ ...entry, ...changes })

t.test('records of a file are served as they were written', async (t) => {
  const { load, store } = await prepare(t)
  const { _id, ...rest } = entry
  const text = [`\uFEFF${JSON.stringify({ id: _id, ...rest })}`, '', line({ _id: 'second', organisation }), ''].join(
    '\r\n',
  )
  t.match(await load(text, ...entries, '--json'), { code: 0, stdout: '"written":2' })
  const { get } = await testApp(t, { store })
  const { data, _metadata } = (await get('/v1/entries', organisation)).json()
  t.equal(_metadata.total, 2)
  t.match(data[0], { id: _id, createdAt: entry.createdAt.toISOString(), answers: entry.answers })
})

t.test('a file with bad lines changes nothing, and each bad line is named with its fault', async (t) => {
  const { load, store } = await prepare(t)
  await store.insert('entries', [{ ...entry, _id: 'taken', organisation, duration: 999 }])
  const lines: [string, string | RegExp | undefined][] = [
    [line(), undefined],
    ['{"_id":', /is no JSON: /],
    ['[1]', 'is no JSON object'],
    ['null', 'is no JSON object'],
    [line({ id: 'x' }), 'has both id and _id'],
    [line({ _id: 'a1', organisation: 'other' }), `organisation is not ${organisation}`],
    [line({ _id: 'a2', createdAt: 'yesterday' }), 'createdAt: expected an instant such as 2025-03-14T09:26:53.589Z'],
    [line({ _id: 'a3', createdAt: '2025-02-31T00:00:00' }), 'createdAt: expected an instant'],
    [line({ _id: 'b1', createdAt: '2024-02-30T00:00:00Z' }), 'createdAt: expected an instant'],
    [line({ _id: 'b2', createdAt: '2024-01-01T24:00:00Z' }), 'createdAt: expected an instant'],
    [line({ _id: 'b3', createdAt: '2024-13-01T00:00:00Z' }), 'createdAt: expected an instant'],
    [line({ _id: 'c1', createdAt: '0000-06-01T00:00:00Z' }), 'in UTC from the year 0001 to 9999'],
    [line({ _id: 'c2', createdAt: '0001-01-01T00:00:00+14:00' }), 'in UTC from the year 0001 to 9999'],
    [line({ _id: 'c3', updatedAt: '9999-12-31T23:59:59-14:00' }), 'updatedAt: expected an instant'],
    [line({ _id: 'c4', duration: 'HUGE' }).replace('"HUGE"', '1e400'), 'duration: expected number'],
    [line({ _id: 'b4', status: 'x'.repeat(2 * 1024 * 1024) }), 'is longer than 2 MiB'],
    [line({ _id: 'a4', duration: 'long' }), 'duration: expected number'],
    [line({ _id: 'b5', status: '\ud800' }), 'status: holds half of a surrogate pair'],
    [
      line({ _id: 'a5', location: { coordinates: { longitude: 1 } } }),
      'location.coordinates.lattitude: expected required',
    ],
    [line({ _id: 'a6', unknown: 1 }), 'unknown: unexpected property'],
    [line({ _id: 'a7', location: 3 }), 'location: expected object'],
    [line({ _id: undefined }), 'id: expected required property'],
    [line({ _id: 'taken' }), 'id: taken is taken in entries'],
    [line(), `id: ${entry._id} stands in line 1 already`],
  ]
  const { code, output } = await load(lines.map(([text]) => text).join('\n'), ...entries)
  t.equal(code, 1)
  lines.forEach(([, fault], i) => {
    const said = output.split('\n').find((text) => text.startsWith(`line ${i + 1}: `))
    if (fault === undefined) t.equal(said, undefined)
    else t.match(said, fault)
  })
  t.match(output, 'Nothing was written: 23 of 24 lines are bad')
  t.equal((await store.dangerouslyFindAll('entries', {})).length, 1)
})

t.test('what could not be stored as it is, or not be served, is refused at any depth', async (t) => {
  const { load, store } = await prepare(t)
  const { organisation: _, ...dispatch } = a.dispatch(1)
  const withAttachment = (attachment: string) =>
    JSON.stringify({ ...dispatch, instructions: { attachments: ['?'] } }).replace('"?"', attachment)
  const target = ['--collection', 'dispatches', '--organisation', organisation]
  const place = 'line 1: instructions.attachments.0'
  for (const [attachment, fault] of [
    [`${'['.repeat(120)}${']'.repeat(120)}`, `${place}.0: nests deeper than 100 levels`],
    ['{"_bsontype":"Long"}', `${place}: holds the name "_bsontype", which BSON has no place for`],
    ['{"a":{"b\\u0000":1}}', `${place}.a: holds the name "b\\u0000", which BSON has no place for`],
    ['{"a":"\\udc00"}', `${place}.a: holds half of a surrogate pair`],
    ['1e400', `${place}: holds a number beyond ±1.8e308`],
    ['{"a":[-1e400]}', `${place}.a: holds a number beyond ±1.8e308`],
  ] as const) {
    t.match(await load(withAttachment(attachment), ...target), { code: 1, output: fault })
  }
  t.equal((await store.dangerouslyFindAll('dispatches', {})).length, 0)
  const fit = `{"a":"😀","b":[null,true,${'['.repeat(90)}${']'.repeat(90)}]}`
  t.match(await load(withAttachment(fit), ...target), { code: 0, stdout: 'Wrote 1 to dispatches' })
  const { get } = await testApp(t, { store })
  const { instructions } = (await get(`/v1/dispatches/${dispatch._id}`, organisation)).json().data
  t.same(instructions.attachments, [JSON.parse(fit)])
})

t.test('a file that is not UTF-8 is refused, and more lines than a batch are written', async (t) => {
  const { load } = await prepare(t)
  t.match(await load(Buffer.from([0x7b, 0xff, 0x7d]), ...entries), {
    code: 1,
    output: 'line 1: holds bytes that are no UTF-8',
  })
  t.match(
    await load(
      Buffer.concat([Buffer.from(line()), Buffer.of(10, 0xed, 0xa0, 0x80, 10), Buffer.from('[]')]),
      ...entries,
    ),
    {
      code: 1,
      output:
        'line 2: holds bytes that are no UTF-8\nline 3: is no JSON object\nNothing was written: 2 of 3 lines are bad',
    },
  )
  const many = Array.from({ length: 1500 }, (_, i) => line({ _id: `entry-${i}` })).join('\n')
  t.match(await load(many, ...entries), { code: 0, stdout: 'Wrote 1500 to entries' })
})

t.test('a load that is broken off says so, and goes on when it is run again', async (t) => {
  const { store } = await prepare(t)
  const file = `${t.testdir({ 'file.ndjson': Array.from({ length: 2500 }, (_, i) => line({ _id: `e${i}` })).join('\n') })}/file.ndjson`
  let inserts = 0
  const failing: Store = {
    ...store,
    insert: async (...args) => {
      inserts += 1
      if (inserts === 3) throw new StoreUnavailable(new Error('gone'))
      return store.insert(...args)
    },
  }
  t.match(await tryCommand(loadCommand, failing, [file, ...entries]), {
    code: 1,
    output: /^Broken off after 2000 of 2500 lines: The database cannot be reached\nRun it again to go on/m,
  })
  const again = await tryCommand(loadCommand, store, [file, ...entries])
  t.match(again, { code: 0, stdout: 'Wrote 500 to entries; 2000 were there already' })
  t.match(again.output, `Note: the database has no organisation ${organisation} yet`)
  await store.insert('organisations', [
    { _id: organisation, name: 'Org', createdAt: new Date(), updatedAt: new Date() },
  ])
  const third = await tryCommand(loadCommand, store, [file, ...entries, '--json'])
  t.same(JSON.parse(third.stdout), {
    ...{ collection: 'entries', organisation, written: 0, present: 2500 },
    missingReferences: 10_000,
  })
})

t.test('a file that cannot be read, or has nothing in it, is an error', async (t) => {
  const { load, store } = await prepare(t)
  const from = (file: string) => tryCommand(loadCommand, store, [file, ...entries])
  t.match(await from('nowhere.ndjson'), { code: 1, output: 'nowhere.ndjson cannot be read: ENOENT' })
  t.match(await from(t.testdir({})), { code: 1, output: 'is no file that can be read twice' })
  t.match(await load('\n \n', ...entries), { code: 1, output: 'has no lines' })
  const broken: Store = { ...store, dangerouslyFindAll: () => Promise.reject(new StoreUnavailable(new Error('gone'))) }
  const file = `${t.testdir({ 'file.ndjson': line() })}/file.ndjson`
  t.match(await tryCommand(loadCommand, broken, [file, ...entries]), {
    code: 1,
    output: 'The database cannot be reached: gone',
  })
  const faulty: Store = { ...store, dangerouslyFindAll: () => Promise.reject(new Error('Odd fault')) }
  t.match(await tryCommand(loadCommand, faulty, [file, ...entries]), { code: 1, output: /^Error: Odd fault\n +at / })
})

t.test('a wrong call says what is wrong', async (t) => {
  const { load } = await prepare(t)
  t.match(await load('', '--collection', 'apiKeys', '--organisation', 'x'), {
    code: 2,
    output: '--collection apiKeys must be one of users, agents, forms, projects, dispatches, entries',
  })
  t.match(await load('', 'second', ...entries), { code: 2, output: 'Name one file' })
  t.match(await load('', '--organisation', 'x'), { code: 2, output: '--collection is missing' })
  t.match(await load('', '--collection', 'entries', '--organisation', '$x'), {
    code: 2,
    output: '--organisation must be',
  })
})

t.test('the first and the last instant, and every character of Unicode, are served as they were written', async (t) => {
  const { load, store } = await prepare(t)
  const status = 'a\ufffdb\u2028c\u2029d\u0085e\rf'
  const text = line({ status, createdAt: '0001-01-01T13:00:00+13:00', updatedAt: '9999-12-31T23:59:59.999Z' })
  t.match(await load(text, ...entries), { code: 0, stdout: 'Wrote 1 to entries' })
  const { get } = await testApp(t, { store })
  t.match((await get('/v1/entries', organisation)).json().data, [
    { status, createdAt: '0001-01-01T00:00:00.000Z', updatedAt: '9999-12-31T23:59:59.999Z' },
  ])
})

t.test('a line that is longer than any text can be is named, and those behind it are checked', async (t) => {
  const { store } = await prepare(t)
  const path = `${t.testdir({ 'file.ndjson': `${line()}\n` })}/file.ndjson`
  const file = await open(path, 'r+')
  // What lies between is zeros, for which the disk needs no room.
  await file.write('\n[]\n', 540_000_000)
  await file.close()
  t.match(await tryCommand(loadCommand, store, [path, ...entries]), {
    code: 1,
    output: 'line 2: is longer than 2 MiB\nline 3: is no JSON object\nNothing was written: 2 of 3 lines are bad\n',
  })
})

t.test('long lines are written few at a time', async (t) => {
  const { store } = await prepare(t)
  const sizes: number[] = []
  const counting: Store = {
    ...store,
    insert: (collection, documents, options) => {
      sizes.push(documents.length)
      return store.insert(collection, documents, options)
    },
  }
  const long = Array.from({ length: 12 }, (_, i) => line({ _id: `e${i}`, status: 'x'.repeat(1_000_000) })).join('\n')
  const file = `${t.testdir({ 'file.ndjson': long })}/file.ndjson`
  t.match(await tryCommand(loadCommand, counting, [file, ...entries]), { code: 0 })
  t.same(sizes, [9, 3])
})

t.test('of thousands of bad lines the first are named and all are counted', async (t) => {
  const { load } = await prepare(t)
  const { output } = await load('[]\n'.repeat(3000), ...entries)
  t.equal(output.match(/^line /gm)?.length, 100)
  t.match(output, 'Nothing was written: 3000 of 3000 lines are bad')
})

t.test(
  'an id that fits into no URL and a word that is none of the contract’s are refused, with what is allowed',
  async (t) => {
    const { load } = await prepare(t)
    const long = await load(line({ _id: 'x'.repeat(501) }), ...entries)
    t.match(long.output, /^line 1: id: expected string length less or equal to 500\n/)
    const dispatch = JSON.stringify({ ...a.dispatch(1), dispatchType: 'open' })
    const { output } = await load(dispatch, '--collection', 'dispatches', '--organisation', A)
    t.match(output, /^line 1: dispatchType: must be one of basic, prefilled, hybrid, survey\n/)
  },
)

t.test('what is said of a line is short, and nothing that a terminal obeys', async (t) => {
  const { load } = await prepare(t)
  const id = `\u009b\u202e${'x'.repeat(498)}`
  const { output } = await load([line({ _id: id }), line({ _id: id }), '\u001b[2J'].join('\n'), ...entries)
  t.match(output, /^line 2: id: \\u009b\\u202ex{400,500}\nline 3: is no JSON: [\n -~]+$/)
})

t.test('a reference to what the organisation lacks is named, in the same words whether another has it', async (t) => {
  const { load, store } = await prepare(t)
  await fillTenants(store)
  const text = [
    line({ _id: 'whole' }),
    line({ _id: 'stolen', form: b.form._id, agent: b.agent(1)._id }),
    line({ _id: 'astray', form: 'nothing', dispatch: undefined }),
  ].join('\n')
  const named = [
    `line 2: form: ${organisation} has no form-b in forms`,
    `line 2: agent: ${organisation} has no agent1-b in agents`,
    `line 3: form: ${organisation} has no nothing in forms`,
  ]
  const refused = await load(text, ...entries, '--strict')
  t.equal(refused.code, 1)
  t.equal(
    refused.output,
    [...named, `Nothing was written: 3 references lead to nothing that ${organisation} has`, ''].join('\n'),
  )
  t.equal((await store.dangerouslyFindAll('entries', { _id: 'whole' })).length, 0)
  const loaded = await load(text, ...entries, '--json')
  t.match(JSON.parse(loaded.stdout), { written: 3, present: 0, missingReferences: 3 })
  t.match(loaded.output, [...named, `Note: 3 references lead to nothing that ${organisation} has`].join('\n'))
  t.match(await load(line({ _id: 'whole' }), ...entries, '--strict'), { code: 0, output: /^Wrote 0 .* already\n$/ })
})

t.test('references are found in every field that holds one, however many ids it holds', async (t) => {
  const { load, store } = await prepare(t)
  await fillTenants(store)
  const target = (collection: string) => ['--collection', collection, '--organisation', organisation, '--strict']
  const { output } = await load(JSON.stringify({ ...stolen.dispatch, _id: 'd' }), ...target('dispatches'))
  for (const field of ['form', 'project', 'createdBy', 'modifiedBy', 'recipients.agents']) {
    t.match(output, `line 1: ${field}: `)
  }
  const agents = [a.agent(1)._id, ...Array.from({ length: 1500 }, (_, n) => `agent-${n}`), a.agent(2)._id]
  const many = { ...a.dispatch(1), _id: 'e', recipients: { agents, agentGroups: ['any'] } }
  t.match(await load(JSON.stringify(many), ...target('dispatches')), {
    code: 1,
    output: /recipients.agents: .*\nNothing was written: 1500 references/s,
  })
  const project = { ...a.project(1), _id: 'p', modifiedBy: 'nobody' }
  t.match(await load(JSON.stringify(project), ...target('projects')), {
    code: 1,
    output: `line 1: modifiedBy: ${organisation} has no nobody in users`,
  })
  const user = { ...a.user, _id: 'u' }
  t.match(await load(JSON.stringify(user), ...target('users')), { code: 0 })
})
