// The command that loads real data: all of a file or nothing of it.
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { loadCommand } from '../../src/commands/load.js'
import { collections, recordCollections } from '../../src/core/documents/collections.js'
import { mongoStore } from '../../src/core/store/mongo.js'
import { type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { transcripts, tryCommand, wrongCalls } from '../support/command.js'
import { entry, fileWith, intoEntries, line, organisation, prepareLoad } from '../support/load.js'
import { mongoSettings } from '../support/store.js'
import { leftToGate } from '../support/thorough.js'
import { WireServer } from '../support/wire-server.js'

const into = intoEntries.join(' ')
const now = new Date()
const organisations = [{ _id: organisation, name: 'Organisation', createdAt: now, updatedAt: now }]
/** An entry as it is stored; two in other files; and lines that name entries to delete. */
const stored = (_id: string, fields: object = {}) => ({ ...entry, _id, organisation, ...fields })
const linesOf = (...ids: string[]) => ids.map((_id) => line({ _id })).join('\n')
/** Entries with no more than what is required, for files of many lines. */
const { status, answers, createdAt, updatedAt } = entry
const shortLines = (ids: readonly string[], changes: object = {}) =>
  ids
    .map((_id) => JSON.stringify({ _id, status, answers: answers.slice(0, 0), createdAt, updatedAt, ...changes }))
    .join('\n')
const deletions = (...ids: string[]) => ids.map((id) => JSON.stringify({ id })).join('\n')

t.test(
  'records of a file are served as they were written, with the first and the last date, and any text',
  async (t) => {
    const { load, store } = await prepareLoad(t)
    const status = 'a\ufffdb\u2028c\u2029d\u0085e\rf'
    const text = line({ status, createdAt: '0001-01-01T13:00:00+13:00', updatedAt: '9999-12-31T23:59:59.999Z' })
    t.match(await load(text, ...intoEntries), { code: 0, stdout: 'Wrote 1 to entries' })
    const { get } = await testApp(t, { store })
    t.match((await get('/v1/entries', organisation)).json().data, [
      {
        id: entry._id,
        status,
        answers: entry.answers,
        createdAt: '0001-01-01T00:00:00.000Z',
        updatedAt: '9999-12-31T23:59:59.999Z',
      },
    ])
  },
)

transcripts(t, {
  'a file with an invalid line changes nothing, and its invalid lines are listed': {
    before: { organisations, entries: [stored('taken', { duration: 999 })] },
    files: { file: [line(), '[]', line({ _id: 'taken' }), line()].join('\n') },
    lines: `
      $ load <dir>/file ${into}
      2> line 2: is not a JSON object
      2> line 3: id: taken already exists in entries as another record; use --upsert to replace it
      2> line 4: id: ${entry._id} is already in line 1
      2> Nothing was written. Invalid lines: 3 of 4
      exit 1`,
    after: { entries: [{ _id: 'taken', duration: 999 }] },
  },
  'what is wrong in the same way in many lines is said once, and a question with several answers is no error': {
    before: { organisations },
    files: {
      csv: 'id,status\nentry-1,new\nentry-2,new\n',
      numbers: ['a', 'b', 'c'].map((_id) => line({ _id, duration: 'NaN' }).replace('"NaN"', 'NaN')).join('\n'),
      twice: line({ answers: ['1', '2', '3'].map((answer) => ({ type: 'text', question: 'Other?', answer })) }),
    },
    lines: `
      $ load <dir>/csv ${into}
      2> line 1: is not a JSON object, so the file may be a CSV: examples/from_odk.py makes lines of one, and 2 more lines alike
      2> Nothing was written. Invalid lines: 3 of 3
      exit 1
      $ load <dir>/numbers ${into}
      2> line 1: has NaN, which is not JSON: leave the field out, and 2 more lines alike
      2> Nothing was written. Invalid lines: 3 of 3
      exit 1
      $ load <dir>/twice ${into}
      …
      2> line 1: answers: "Other?" has 3 answers
      …
      2> Entries with several answers to one question, which become one column: 1
      Wrote 1 to entries`,
  },
  'a file that cannot be read or has no lines, and an organisation that does not exist, are errors': {
    before: { organisations },
    files: { file: line(), blank: '\n \n' },
    lines: `
      $ load <dir>/nothing ${into}
      2> <dir>/nothing cannot be read: ENOENT…
      exit 1
      $ load <dir> ${into}
      2> <dir> is not a regular file: it is read twice
      exit 1
      $ load <dir>/blank ${into}
      2> <dir>/blank has no lines
      exit 1
      $ load <dir>/file --collection entries --organisation unknown
      2> Organisation unknown does not exist
      2> Add it with: npx field-data-api organisations add --id unknown --name NAME
      2> List those that exist with: npx field-data-api organisations list
      exit 1`,
    after: { entries: [] },
  },
  'what is reported about a line is short, and has no control characters': {
    before: { organisations },
    files: { file: [...Array(2).fill(line({ _id: `\u2066\u202e${'x'.repeat(498)}` })), '\u001b[2J'].join('\n') },
    lines: `
      $ load <dir>/file ${into}
      2> line 2: id: \\u2066\\u202e${'x'.repeat(494)}
      2> line 3: is not a JSON object, so the file may be a CSV: examples/from_odk.py makes lines of one
      …
      exit 1`,
  },
  'with --upsert a line adds its record or replaces the whole, and a record that is the same stays unchanged': {
    before: async (store) => {
      await store.insert('organisations', organisations)
      await store.insert(
        'entries',
        ['changed', 'same', 'deleted'].map((id) => stored(id)),
      )
      await store.remove('entries', organisation, ['deleted'])
    },
    files: {
      file: [
        line({ _id: 'changed', status: 'rejected', project: 'other', duration: undefined }),
        linesOf('same', 'new', 'deleted'),
      ].join('\n'),
    },
    lines: `
      $ load <dir>/file ${into} --upsert
      …
      Wrote 3 to entries; 1 already there
      $ load <dir>/file ${into} --upsert --json
      …
      {"collection":"entries","organisation":"${organisation}","written":0,"present":4,"missingReferences":16}`,
    after: {
      entries: [
        {
          ...{ _id: 'changed', status: 'rejected', duration: undefined, organisation },
          formerProjects: [entry.project],
        },
        { _id: 'deleted', organisation, changedAt: Date },
        { _id: 'new', organisation },
        { _id: 'same', organisation },
      ],
    },
  },
  'with --delete the records of the lines are deleted, and can be loaded again': {
    before: { organisations, entries: ['first', 'second', 'kept'].map((id) => stored(id)) },
    files: { ids: deletions('first', 'never', 'second'), first: linesOf('first') },
    lines: `
      $ load <dir>/ids ${into} --delete --strict
      2> line 2: id: ${organisation} has no never in entries
      2> Nothing was written. Ids that ${organisation} never had: 1
      exit 1
      $ load <dir>/ids ${into} --delete
      2> line 2: id: ${organisation} has no never in entries
      2> Ids that ${organisation} never had: 1
      Deleted 2 from entries
      $ load <dir>/ids ${into} --delete --json
      …
      {"collection":"entries","organisation":"${organisation}","deleted":0,"unknown":1,"alreadyDeleted":2}
      $ load <dir>/first ${into}
      …
      Wrote 1 to entries`,
    after: {
      entries: [
        { _id: 'first', organisation },
        { _id: 'kept', organisation },
        { _id: 'second', deletedFrom: organisation, organisation: undefined },
      ],
    },
  },
  'records and deletions of other organisations are never touched': {
    before: async (store) => {
      await store.insert('organisations', organisations)
      await store.insert(
        'entries',
        ['live', 'dead'].map((id) => stored(id, { organisation: 'other' })),
      )
      await store.remove('entries', 'other', ['dead'])
    },
    files: { file: linesOf('live', 'dead', 'new'), ids: deletions('live', 'dead') },
    lines: ['', ' --upsert']
      .map(
        (mode) => `
      $ load <dir>/file ${into}${mode}
      2> line 1: id: live belongs to another organisation: all organisations share ids, so begin yours with the id of your own
      2> line 2: id: dead belongs to another organisation: all organisations share ids, so begin yours with the id of your own
      2> Nothing was written. Invalid lines: 2 of 3
      exit 1`,
      )
      .concat(`
      $ load <dir>/ids ${into} --delete --json
      …
      {"collection":"entries","organisation":"${organisation}","deleted":0,"unknown":2,"alreadyDeleted":0}`)
      .join(''),
    after: {
      entries: [
        { _id: 'dead', deletedFrom: 'other' },
        { _id: 'live', organisation: 'other' },
      ],
    },
  },
  'changes and deletions with an invalid line change nothing': {
    before: { organisations, entries: [stored('old')] },
    files: {
      ids: [deletions('old'), linesOf('x'), '{}'].join('\n'),
      changes: [line({ _id: 'old', status: 'new' }), '{}'].join('\n'),
    },
    lines: `
      $ load <dir>/ids ${into} --delete
      2> line 2: …: is not a known field;…
      2> line 3: id: is missing
      2> Nothing was written. Invalid lines: 2 of 3
      exit 1
      $ load <dir>/changes ${into} --upsert
      2> line 2: id: is missing; …
      2> Nothing was written. Invalid lines: 1 of 2
      exit 1`,
    after: { entries: [{ _id: 'old', status: entry.status, organisation }] },
  },
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

t.test(
  'what is interrupted says how far it came, and continues when it is run again',
  { skip: leftToGate },
  async (t) => {
    const { store } = await prepareLoad(t)
    const ids = Array.from({ length: 1010 }, (_, i) => `e${i}`)
    for (const [mode, text, result] of [
      [[], shortLines(ids), 'Wrote 10 to entries; 1000 already there'],
      [['--upsert'], shortLines(ids, { status: 'new' }), 'Wrote 10 to entries; 1000 already there'],
      [['--delete'], deletions(...ids), 'Deleted 10 from entries'],
    ] as const) {
      const argv = [fileWith(t, text), ...intoEntries, ...mode]
      let calls = 0
      const failing =
        (write: (...call: never[]) => Promise<unknown>) =>
        async (...call: never[]) => {
          calls += 1
          if (calls === 2) throw new StoreUnavailable(new Error('gone'))
          return write(...call)
        }
      const { insert, upsert, remove } = store
      const broken = { ...store, insert: failing(insert), upsert: failing(upsert), remove: failing(remove) } as Store
      t.match(await tryCommand(loadCommand, broken, argv), {
        code: 1,
        output:
          /^Interrupted \(lines written: 1000 of 1010\): The database cannot be reached\nRun it again to continue/m,
      })
      t.match(await tryCommand(loadCommand, store, argv), { code: 0, stdout: result })
    }
  },
)

t.test('a file that changes after it was checked is not written any further', { skip: leftToGate }, async (t) => {
  const { store } = await prepareLoad(t)
  await store.insert('organisations', [{ ...organisations[0], _id: 'other' } as (typeof organisations)[0]])
  const others = { ...stored('others'), organisation: 'other' }
  await store.insert('entries', [others])
  const ids = Array.from({ length: 1010 }, (_, i) => `e${i}`)
  const changed = 'the file has changed since it was checked'
  for (const [then, written] of [
    [shortLines([...ids.slice(0, 1000), 'others']), 1000],
    [shortLines(ids.slice(0, 1000)), 0],
    [shortLines(['x', ...ids.slice(1)]), 0],
  ] as const) {
    const file = fileWith(t, shortLines(ids))
    const changing: Store = {
      ...store,
      async dangerouslyFindAll(...call) {
        const found = await store.dangerouslyFindAll(...call)
        // The second batch is the last one that is checked.
        if (JSON.stringify(call).includes('"e1009"')) writeFileSync(file, then)
        return found
      },
    }
    t.match(await tryCommand(loadCommand, changing, [file, ...intoEntries, '--upsert']), {
      code: 1,
      output: new RegExp(`^Interrupted .lines written: ${written} of 1010.: ${changed}\nRun it again`, 'm'),
    })
  }
  t.match(await store.dangerouslyFind('entries', 'others'), { organisation: 'other' })
})

t.test('a load that is told to stop says what was written', async (t) => {
  const { store } = await prepareLoad(t)
  const argv = [fileWith(t, shortLines(Array.from({ length: 1010 }, (_, i) => `e${i}`))), ...intoEntries]
  const controller = new AbortController()
  const stopping: Store = {
    ...store,
    insert: async (...call) => {
      controller.abort()
      return store.insert(...call)
    },
  }
  const { signal } = controller
  t.match(await tryCommand(loadCommand, stopping, argv, { signal }), {
    code: 1,
    output: /^Interrupted \(lines written: 1000 of 1010\): it was told to stop\nRun it again to continue/m,
  })
  t.match(await tryCommand(loadCommand, store, argv, { signal }), {
    code: 1,
    output: /^Interrupted: nothing was written\n/m,
  })
})

t.test('of thousands of invalid lines the first 100 are listed and all are counted', async (t) => {
  const { load } = await prepareLoad(t)
  const text = Array.from({ length: 3000 }, (_, n) => `{"id":"e","field${n}":1}\n`).join('')
  const { lines } = await load(text, ...intoEntries)
  t.equal(lines.length, 101)
  t.equal(lines[100], '2> Nothing was written. Invalid lines: 3000 of 3000')
})

t.test('a wrong call says what is wrong', (t) =>
  wrongCalls(t, [
    [
      'load x --collection apiKeys --organisation x',
      `'apiKeys' is invalid: Allowed choices are ${recordCollections.join(', ')}\n`,
    ],
    [`load x second ${into}`, 'Too many arguments. Expected 1 argument but got 2\n'],
    ['load x --organisation x', "Required option '--collection <NAME>' not specified"],
    [
      'load x --collection entries --organisation $x',
      "Option '--organisation <ID>' argument '$x' is invalid: it must be",
    ],
    [`load x ${into} --delete --upsert`, "Option '--upsert' cannot be used with option '--delete'"],
  ]),
)

t.test('the help describes each collection, in an order in which --strict finds every reference', async (t) => {
  const { load, store } = await prepareLoad(t)
  const help = await tryCommand(loadCommand, store, ['--help'])
  t.equal(help.code, 0)
  for (const name of recordCollections) {
    const shown = new RegExp(`^${name}\n  required: (.*)\n  optional: (.*)\n  (.*)$`, 'm').exec(help.stdout)
    const [required, optional, sample] = (shown as RegExpExecArray).slice(1) as [string, string, string]
    const target = ['--collection', name, '--organisation', organisation, '--strict', '--json']
    t.match(await load(sample, ...target), { code: 0, stdout: '"written": 1' }, `the sample of ${name} can be loaded`)

    const record = JSON.parse(sample)
    const described = `${required}, ${optional}`.split(', ').filter(Boolean).sort()
    t.same(Object.keys(record).sort(), described, `the sample of ${name} has every field that is described`)
    const stored = Object.keys(collections[name].schema.properties).filter((field) => field !== 'organisation')
    t.same(
      stored.map((field) => (field === '_id' ? 'id' : field)).sort(),
      described,
      `every field of ${name} is described`,
    )
    for (const field of described) {
      const { output } = await load(JSON.stringify({ ...record, id: 'other', [field]: undefined }), ...target)
      const isMissing = output.includes(`line 1: ${field}: is missing`)
      t.equal(isMissing, required.split(', ').includes(field), `whether ${name} requires ${field}`)
    }
  }
})

t.test('on a sharded cluster, records that were deleted are loaded and deleted again', async (t) => {
  const server = await WireServer.for(t)
  const store = mongoStore(mongoSettings(server.uri))
  t.teardown(() => store.close())
  server.isSharded = true
  await server.store.insert('organisations', organisations)
  const load = (text: string, ...more: string[]) =>
    tryCommand(loadCommand, store, [fileWith(t, text), ...intoEntries, ...more])
  const lines = linesOf('a', 'b', 'c')
  for (let n = 0; n < 2; n++) {
    t.match(await load(lines), { code: 0, stdout: 'Wrote 3 to entries' })
    t.match(await load(deletions('a', 'b', 'c'), '--delete'), { code: 0, stdout: 'Deleted 3 from entries' })
  }
  server.orphans.add('b')
  const output =
    /^Interrupted .lines written: 0 of 3.: A chunk was moved, .* try again in a quarter of an hour\nRun it/m
  t.match(await load(lines), { code: 1, output })
})
