// What is read for a list: which fields, and how many records it has.
import t from 'tap'
import { entries } from '../../src/pipelines/entries.js'
import { countOf, inLargePieces, listQuery, readRecord, sliceReader } from '../../src/reading/listing.js'
import { withQuestions } from '../../src/reading/questions.js'
import { embeddedStore } from '../../src/store/embedded.js'
import { QueryTimeout } from '../../src/store/store.js'
import { listing } from '../support/resources.js'
import { testStore } from '../support/store.js'
import { a } from '../support/tenants.js'
import { oneAtATime, testTicket } from '../support/tickets.js'

const scope = { organisation: 'org-a' }

t.test('the database sends the chosen fields, the id and the field of the sort', async (t) => {
  for (const [parameters, sent] of [
    [{ fields: ['updatedAt'] }, ['_id', 'updatedAt']],
    [{ fields: ['id', 'form'], sortBy: 'duration' }, ['_id', 'duration', 'form']],
  ] as const) {
    const { $project = {} } = listQuery(entries, scope, listing(parameters)).stages.at(-1) ?? {}
    t.same(Object.keys($project).sort(), sent)
  }
})

t.test('a page is found by its number, or as a slice in a range', async (t) => {
  const pageOf = (...slice: object[]) =>
    listQuery(entries, scope, listing({ page: 3, perPage: 20 }), ...(slice as never[]))
  t.match(pageOf().stages, [{ $sort: { _id: 1 } }, { $skip: 40 }, { $limit: 20 }])
  const range = { _id: { $lt: 'x' } }
  const { match, stages } = pageOf({ range, isBackward: true, skip: 0, limit: 21 })
  t.match(stages, [{ $sort: { _id: -1 } }, { $limit: 21 }])
  t.match(match, { $and: [range] })
})

t.test('a slice that takes too long is a problem that says what would help, and any other error stays', async (t) => {
  const slice = { isBackward: false, skip: 0, limit: 1 }
  for (const [error, found] of [
    [new QueryTimeout(undefined), { code: 'query_timeout', message: /for status, sortBy: the index/ }],
    [new Error('broken'), { message: 'broken' }],
  ] as const) {
    const store = { ...embeddedStore(), aggregate: () => Promise.reject(error) }
    const read = sliceReader(store, entries, scope, listing({ status: 'x', sortBy: 'createdAt' }), {})
    await t.rejects(read(slice), found)
  }
})

t.test('a record is found by its id, with the records that it refers to', async (t) => {
  const store = testStore(t)
  await store.insert('entries', [a.entry(1)])
  const query = listQuery(entries, scope, listing({ ids: ['entry1-a'] }))
  t.equal((await readRecord(store, query, {}))?.collection, 'entries')
  t.equal(await readRecord(store, listQuery(entries, scope, listing({ ids: ['x'] })), {}), undefined)
})

t.test('counting is a large task of its own, unless it is quick or the request is large already', async (t) => {
  const runningDuring = async (isQuick: boolean, size: 'small' | 'large') => {
    const scheduler = oneAtATime()
    const ticket = await testTicket(scheduler)
    ticket.size = size
    const count = async () => scheduler.all.running.large
    const running = await countOf({ count, isQuick: () => isQuick }, entries, scope, listing(), ticket)
    t.same(scheduler.all.running.large, 0, 'it has ended')
    return running
  }
  t.equal(await runningDuring(false, 'small'), 1)
  t.equal(await runningDuring(true, 'small'), 0)
  t.equal(await runningDuring(false, 'large'), 0)
})

t.test('a question is looked for page by page, each a large task that holds only its own bytes', async (t) => {
  const store = testStore(t)
  const answers = [{ type: 't', question: 'Q', answer: 'x'.repeat(20_000) }]
  await store.insert(
    'entries',
    Array.from({ length: 120 }, (_, n) => ({ ...a.entry(n), form: 'f', answers })),
  )
  for (const size of ['small', 'large'] as const) {
    const scheduler = oneAtATime()
    const ticket = await testTicket(scheduler)
    ticket.size = size
    const begun: [large: number, held: number][] = []
    const aggregate: typeof store.aggregate = (...query) => {
      begun.push([scheduler.all.running.large, scheduler.all.held])
      return store.aggregate(...query)
    }
    const asked = { form: 'f', answered: [{ key: size === 'small' ? '0123456789ab' : '0123456789ac' }] }
    const found = withQuestions({ ...store, aggregate }, scope, asked, inLargePieces(ticket))
    await t.rejects(found, { code: 'invalid_parameter' })
    t.ok(begun.length > 2, 'several pages were read')
    const pages = begun.map(([large]) => large)
    t.ok(
      pages.every((large) => large === (size === 'small' ? 1 : 0)),
      'a small request has a large task for each page',
    )
    t.same(scheduler.all.running.large, 0, 'which has ended')
    t.equal(scheduler.all.held, 0, 'and holds nothing')
    t.ok(Math.max(...begun.map(([, held]) => held)) < 3 * 2 ** 20, 'no page was held while the next ones were read')
  }
})

t.test('a count that takes too long is a problem that says how to do without it', async (t) => {
  const scheduler = oneAtATime()
  const ticket = await testTicket(scheduler)
  for (const [error, found] of [
    [new QueryTimeout(undefined), { code: 'query_timeout', message: /to count the records: total=false leaves/ }],
    [new Error('broken'), { message: 'broken' }],
  ] as const) {
    const store = { count: () => Promise.reject(error), isQuick: () => false }
    await t.rejects(countOf(store, entries, scope, listing(), ticket), found)
    t.equal(scheduler.all.running.large, 0)
  }
})
