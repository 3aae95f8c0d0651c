// What is read for a request: which fields, in which turns, and what is shared with others.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { FairScheduler, SMALL } from '../../../src/core/limits/scheduler.js'
import { entries } from '../../../src/core/pipelines/entries.js'
import { projectionOf } from '../../../src/core/read/projection.js'
import { withQuestions } from '../../../src/core/read/question-keys.js'
import { Reader } from '../../../src/core/read/reader.js'
import { withCache } from '../../../src/core/store/cache.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { QueryTimeout } from '../../../src/core/store/store.js'
import { listQuery } from '../../support/queries.js'
import { testStore } from '../../support/store.js'
import { a } from '../../support/tenants.js'
import { oneAtATime, testReader, testTicket } from '../../support/tickets.js'

const scope = { organisation: 'org-a' }
const onePage = { page: 1, perPage: 1 }

t.test('the database sends the chosen fields, the id and the field of the sort', async (t) => {
  for (const [parameters, sent] of [
    [{ fields: ['updatedAt'] }, ['_id', 'updatedAt']],
    [{ fields: ['id', 'form'], sortBy: 'duration' }, ['_id', 'duration', 'form']],
  ] as const) {
    const { $project = {} } = listQuery(entries, scope, parameters).stages.at(-1) ?? {}
    t.same(Object.keys($project).sort(), sent)
  }
})

t.test('a page is found by its number, or as a slice in a range', async (t) => {
  const pageOf = (...slice: object[]) => listQuery(entries, scope, { page: 3, perPage: 20 }, ...(slice as never[]))
  t.match(pageOf().stages, [{ $sort: { _id: 1 } }, { $skip: 40 }, { $limit: 20 }])
  const range = { _id: { $lt: 'x' } }
  const { match, stages } = pageOf({ range, isBackward: true, skip: 0, limit: 21 })
  t.match(stages, [{ $sort: { _id: -1 } }, { $limit: 21 }])
  t.match(match, { $and: [range] })
})

t.test('a page that takes too long is a problem that says what would help, and any other error stays', async (t) => {
  for (const [error, found] of [
    [new QueryTimeout(undefined), { code: 'query_timeout', message: /for status, sortBy: the index/ }],
    [new Error('broken'), { message: 'broken' }],
  ] as const) {
    const reader = await testReader({ ...embeddedStore(), aggregate: () => Promise.reject(error) }, scope)
    const selection = reader.select(entries, { status: 'x', sortBy: 'createdAt' })
    await t.rejects(reader.page(selection, onePage), found)
  }
})

t.test('a large page is read as a large task, which the request stays', async (t) => {
  const scheduler = oneAtATime()
  for (const [perPage, size] of [
    [50, 'small'],
    [51, 'large'],
  ] as const) {
    const reader = await testReader(testStore(t), scope, scheduler)
    await reader.page(reader.select(entries, {}), { page: 1, perPage })
    t.match(reader.ticket, { size, isRunning: true })
    reader.ticket.stop()
  }
})

t.test('a record is found by its id, and one of another organisation is not', async (t) => {
  const store = testStore(t)
  await store.insert('entries', [a.entry(1)])
  const read = async (organisation: string, id: string) =>
    (await testReader(store, { organisation })).record(entries, id, projectionOf(entries, undefined, {}, 'record'))
  t.equal((await read('org-a', 'entry1-a')).collection, 'entries')
  const notFound = { code: 'not_found', message: 'No entry has this id' }
  await t.rejects(read('org-a', 'x'), notFound)
  await t.rejects(read('org-b', 'entry1-a'), notFound)
})

t.test('counting is a large task, unless it is quick, and the request runs nothing meanwhile', async (t) => {
  const runningDuring = async (isQuick: boolean) => {
    const scheduler = oneAtATime()
    const ticket = await testTicket(scheduler)
    const count = async () => scheduler.all.running.large * 10 + scheduler.all.running.small
    const store = { ...withCache({ ...embeddedStore(), count }, 1000), isQuick: () => isQuick }
    const running = await new Reader(store, scope, ticket).count({ resource: entries, conditions: {} })
    t.same(scheduler.all.running, { large: 0, small: 1 }, 'it has ended, and the request goes on')
    return running
  }
  t.equal(await runningDuring(false), 10)
  t.equal(await runningDuring(true), 1)
})

t.test('a page of a walk through a list is a large task, and the memory of two is reserved for the walk', async (t) => {
  const store = testStore(t)
  const answers = [{ type: 't', question: 'Q', answer: 'x'.repeat(20_000) }]
  await store.insert(
    'entries',
    Array.from({ length: 120 }, (_, n) => ({ ...a.entry(n), form: 'f', answers })),
  )
  for (const [size, key] of [
    ['small', '0123456789ab'],
    ['large', 'ba9876543210'],
  ] as const) {
    const scheduler = oneAtATime()
    const begun: [large: number, small: number, reserved: number][] = []
    const aggregate: typeof store.aggregate = (...query) => {
      const { running, reserved } = scheduler.all
      begun.push([running.large, running.small, reserved])
      return store.aggregate(...query)
    }
    const reader = await testReader({ ...store, aggregate }, scope, scheduler)
    if (size === 'large') await reader.ticket.becomeLarge()
    const asked = { form: 'f', answered: [{ key }] }
    await t.rejects(withQuestions(reader, asked), { code: 'invalid_parameter' })
    t.ok(begun.length > 2, 'several pages were read')
    t.ok(
      begun.every(([large, small]) => large === 1 && small === 0),
      'each as the only task of the request',
    )
    t.match(reader.ticket, { size, isRunning: true }, 'which goes on as it was')
    t.match(scheduler.all, { held: 0, reserved: 0 }, 'and nothing is held or reserved')
    t.same(new Set(begun.map(([, , reserved]) => reserved)), new Set([4 * 2 ** 20]))
  }
})

t.test('other large tasks have their turns between two pages of a walk', async (t) => {
  const store = testStore(t)
  await store.insert(
    'entries',
    Array.from({ length: 600 }, (_, n) => a.entry(n)),
  )
  const reader = await testReader(store, scope)
  const other = reader.ticket.shared()
  const order: string[] = []
  let turn: Promise<unknown> | undefined
  await reader.each(reader.select(entries, {}), async (rows) => {
    order.push(`page of ${rows.length}`)
    turn ??= other.large(async () => order.push('other'))
    return false
  })
  await turn
  t.same(order, ['page of 50', 'other', 'page of 200', 'page of 350'])
})

t.test('while a page of a walk is used, the next one is read', async (t) => {
  const stored = testStore(t)
  await stored.insert(
    'entries',
    Array.from({ length: 60 }, (_, n) => a.entry(n)),
  )
  let reads = 0
  const store = {
    ...stored,
    aggregate: (...query: Parameters<typeof stored.aggregate>) => {
      reads += 1
      return stored.aggregate(...query)
    },
  }
  const reader = await testReader(store, scope)
  const used: number[] = []
  await reader.each(reader.select(entries, {}), async (rows) => {
    const before = reads
    // The walk would wait for ever if it read the next page afterwards.
    while (used.length === 0 && reads === before) await setImmediate()
    used.push(rows.length)
    return false
  })
  t.same(used, [50, 10])
})

t.test('what several callers share goes on when the first of them leaves', async (t) => {
  const scheduler = oneAtATime()
  const leaving = new AbortController()
  const store = withCache(testStore(t), 30_000)
  let go = (): void => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  const read = (shared: Reader) =>
    shared.large(async () => {
      await gone
      shared.ticket.signal.throwIfAborted()
      return 'read'
    })
  const first = new Reader(store, scope, await testTicket(scheduler, leaving.signal))
  const second = new Reader(store, scope, await testTicket(new FairScheduler(scheduler.options)))
  const results = [first, second].map((reader) => reader.cached({ of: 'test' }, read))
  leaving.abort(new Error('left'))
  const left = t.rejects(results[0] as Promise<string>, { message: 'left' })
  go()
  await left
  t.equal(await results[1], 'read')
  t.equal(scheduler.all.running.large, 0)
})

t.test('beside two keys that walk and two that count, a third key is next with all that it asks', async (t) => {
  const stored = testStore(t)
  await stored.insert(
    'entries',
    Array.from({ length: 600 }, (_, n) => a.entry(n)),
  )
  const [large, OTHERS] = [{ all: 2, perKey: 1 }, 4]
  const scheduler = new FairScheduler({ ...oneAtATime().options, small: { all: 16, perKey: 8 }, large })
  /** Whose turns have begun, in their order. */
  const turns: string[] = []
  const readerOf = async (key: string) => {
    const note = async <T>(work: Promise<T>): Promise<T> => {
      turns.push(key)
      return work
    }
    const store = withCache(
      {
        ...stored,
        aggregate: (...query) => note(stored.aggregate(...query)),
        count: (...query) => note(stored.count(...query)),
      },
      30_000,
    )
    return new Reader(store, scope, await scheduler.start(key, SMALL))
  }
  let isOver = false
  const walk = async (key: string) => {
    const reader = await readerOf(key)
    while (!isOver) await reader.each(reader.select(entries, {}), async () => isOver)
  }
  const count = async (key: string, n: number) => {
    const reader = await readerOf(key)
    for (let ms = 0; !isOver; ms++)
      await reader.count(reader.select(entries, { createdSince: new Date(1e6 * n + ms), sortBy: 'id' }))
    reader.ticket.stop()
  }
  const counters = ['count-1', 'count-2'].flatMap((key) => Array.from({ length: 8 }, (_, n) => count(key, n)))
  const others = Promise.all([...['walk-1', 'walk-2'].map(walk), ...counters])
  while (turns.length < 50) await setImmediate()

  const asks: Record<string, (reader: Reader) => Promise<unknown>> = {
    'a record': (reader) => reader.record(entries, 'entry1-a', projectionOf(entries, undefined, {}, 'record')),
    'a total': (reader) => reader.count(reader.select(entries, { status: 'x', sortBy: 'id' })),
    'a file': (reader) => reader.each(reader.select(entries, {}), async () => true),
  }
  for (const [name, ask] of Object.entries(asks)) {
    const before = turns.length
    const reader = await readerOf('third')
    await ask(reader)
    reader.ticket.stop()
    const waited = turns.indexOf('third', before) - before
    // Those that run, and one of each key that has paid no more.
    t.ok(waited >= 0 && waited <= large.all + OTHERS, `${name} begins after ${waited} turns of others`)
  }
  isOver = true
  await others
  t.same(new Set(turns).size, 5, 'all had turns')
})
