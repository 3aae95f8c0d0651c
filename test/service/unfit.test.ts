// Stored records that do not match the contract: the error names the record and the field at any depth, and no value is
// silently left out.
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { Dispatch, DispatchListItem } from '../../schemas/dispatches.js'
import { Entry, EntryListItem, expandable } from '../../schemas/entries.js'
import { one, page } from '../../schemas/envelope.js'
import { dispatches } from '../../src/pipelines/dispatches.js'
import { entries } from '../../src/pipelines/entries.js'
import type { Query } from '../../src/pipelines/stages.js'
import { compileResponse } from '../../src/serializer/compiler.js'
import { testApp } from '../support/app.js'
import { testStore } from '../support/store.js'
import { A, a, B, b } from '../support/tenants.js'

const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 } as const
const _metadata = { total: 1, perPage: 50, pageCount: 1, hasMore: false, pageLinks: { current: 'http://localhost/' } }

/** Fields of a stored record, and the errors of the list and of the record by id: empty if the field is not shown. */
const cases: [collection: 'dispatches' | 'entries', fields: object, list: string, byId: string][] = [
  ['dispatches', { instructions: 5 }, '', 'instructions is BSON int32, not an object'],
  [
    'dispatches',
    { recipients: { agents: [], agentGroups: 'x' } },
    ...both('recipients.agentGroups is BSON string, not an array'),
  ],
  [
    'dispatches',
    { recipients: { agents: {}, agentGroups: [] } },
    'recipients.agents is BSON document, not an array',
    'recipients.agents is not an array of ids',
  ],
  [
    'dispatches',
    { recipients: { agents: ['agent1-a', null], agentGroups: [] } },
    'recipients.agents.1._id is missing',
    'recipients.agents.1 is not an id',
  ],
  ['dispatches', { form: 5 }, 'form is BSON int32, not a string', 'form is not an id'],
  ['entries', { location: 'Kano' }, ...both('location is BSON string, not an object')],
  ['entries', { location: { coordinates: 5 } }, ...both('location.coordinates is BSON int32, not an object')],
  ['entries', { answers: 5 }, ...both('answers is BSON int32, not an array')],
  ['entries', { answers: [{ type: 'x', question: 'y' }, 'z'] }, ...both('answers.1 is BSON string, not an object')],
]

function both(error: string): [string, string] {
  return [error, error]
}

t.test('a value of the wrong type is an error that names its record and field', async (t) => {
  const store = testStore(t)
  for (const [i, [collection, fields, list, byId]] of cases.entries()) {
    const organisation = `org-${i}`
    const id = `wrong-${i}`
    const record = collection === 'dispatches' ? a.dispatch(1) : a.entry(1)
    await store.insert(collection, [{ ...record, ...fields, _id: id, organisation } as never])
    const errorOf = async (schema: TSchema, query: Query, isList: boolean): Promise<string> => {
      const data = await store.aggregate(query)
      const payload = isList ? { success: true, data, _metadata } : { success: true, data: data.first }
      try {
        compileResponse(schema)(payload)
        return ''
      } catch (error) {
        return (error as Error).message
      }
    }
    const scope = { organisation }
    const [listed, fetched] =
      collection === 'dispatches'
        ? [
            await errorOf(page(DispatchListItem), dispatches.list(scope, listing), true),
            await errorOf(one(Dispatch), dispatches.get(scope, id), false),
          ]
        : [
            await errorOf(page(EntryListItem), entries.list(scope, listing), true),
            await errorOf(one(Entry), entries.get(scope, id), false),
          ]
    const expected = (error: string) => (error === '' ? '' : `${collection} ${id}: ${error}`)
    t.equal(listed, expected(list), JSON.stringify(fields))
    t.equal(fetched, expected(byId), JSON.stringify(fields))
  }
})

t.test('a record that does not fit is named to its owner, and its other records are served', async (t) => {
  const { get, store } = await testApp(t)
  await store.insert('agents', [{ ...a.agent(1), firstName: 5 } as never])
  await store.insert('forms', [{ ...a.form, name: ['x'] } as never])
  const recipients = { agents: [a.agent(1)._id], agentGroups: [] }
  const wrong = { ...a.entry(2, { form: 'nothing', agent: 'nobody', dispatch: 'nothing' }), answers: 5 } as never
  await store.insert('dispatches', [a.dispatch(1, { recipients, form: 'nothing' }), a.dispatch(2)])
  await store.insert('entries', [a.entry(1, { agent: 'nobody', dispatch: 'nothing', status: 'fit' }), wrong])
  const agent = { name: 'agents/agent1-a', message: 'firstName is BSON int32, not a string' }
  const entry = { name: 'entries/entry2-a', message: 'answers is BSON int32, not an array' }
  const form = { name: 'forms/form-a', message: 'name is BSON array, not a string' }
  for (const [url, error] of [
    ['/v1/entries', entry],
    ['/v1/entries/entry2-a', entry],
    ['/v1/entries/entry1-a', form],
    ['/v1/dispatches/dispatch1-a', agent],
  ] as const) {
    const response = await get(url, A)
    t.equal(response.statusCode, 500, url)
    t.match(response.json(), { code: 'internal_error', detail: /^A stored record cannot be shown/ })
    t.same(response.json().errors, [{ in: 'record', ...error }], url)
  }
  t.equal((await get('/v1/entries?status=fit', A)).statusCode, 200)
  t.equal((await get('/v1/entries', B)).statusCode, 200)
  t.equal((await get('/v1/entries/entry2-a', B)).statusCode, 404)
})

/** What other writers may store in place of an id: among it, an object that looks like the record with the id. */
const notIds = [{ ...b.agent(1), firstName: 'Secret' }, { _id: 'x', firstName: 5 }, {}, ['agent1-a'], [], 5, false]

const inRecipients = (value: unknown) => ({ recipients: { agents: ['nobody', value], agentGroups: [] } })
/** The places of ids in stored records, and how an error names them. */
const idPlaces: [collection: 'dispatches' | 'projects' | 'entries', place: string, put?: (value: unknown) => object][] =
  [
    ...expandable.map((field) => ['entries', field] as ['entries', string]),
    ...['form', 'project', 'createdBy', 'modifiedBy'].map((field) => ['dispatches', field] as ['dispatches', string]),
    ...['createdBy', 'modifiedBy'].map((field) => ['projects', field] as ['projects', string]),
    ['dispatches', 'recipients.agents.1', inRecipients],
  ]

t.test('what is stored in place of an id passes nowhere as a record, and the error names it', async (t) => {
  const { get, store } = await testApp(t, { settings: { SYNC_SETTLE_MS: '0' } })
  let organisations = 0
  for (const [collection, place, put = (value: unknown) => ({ [place]: value })] of idPlaces) {
    for (const value of notIds) {
      const organisation = `org-${organisations++}`
      const record = { entries: a.entry(1), dispatches: a.dispatch(1), projects: a.project(1) }[collection]
      const id = `unfit-${organisation}`
      await store.insert(collection, [{ ...record, ...put(value), _id: id, organisation } as never])
      const until = (await store.now()).now
      while ((await store.now()).now <= until);
      const [field] = place.split('.')
      const title = `${collection} ${place} ${JSON.stringify(value)}`
      for (const path of [
        ...['', '?cursor=*', `?fields=${field}`, `/${id}`].map((rest) => `/v1/${collection}${rest}`),
        ...(collection === 'entries' ? [`?expand=${field}`, `?fields=${field}&expand=${expandable}`] : []).map(
          (rest) => `/v1/entries${rest}`,
        ),
      ]) {
        const response = await get(path, organisation)
        t.equal(response.statusCode, 500, `${title} ${path}`)
        const [{ name, message }] = response.json().errors
        t.equal(name, `${collection}/${id}`, `${title} ${path}`)
        t.ok(message.startsWith(place), `${title} ${path}: ${message}`)
        t.notMatch(response.body, 'Secret')
      }
      const feed = await get(`/v1/sync/${collection}`, organisation)
      const [{ changedAt, ...item }] = feed.json().data
      t.strictSame({ ...item, message: '' }, { id, unreadable: true, message: '' }, title)
      t.ok(item.message.startsWith(place), `${title}: ${item.message}`)
    }
  }
})

t.test('null and an id that nobody has are left out wherever a record would be embedded', async (t) => {
  const { get, store } = await testApp(t)
  const none = { dispatch: null, form: 'nobody', project: null, agent: 'nobody' } as never
  await store.insert('entries', [a.entry(1, none)])
  for (const path of ['/v1/entries/entry1-a', `/v1/entries?expand=${expandable}`]) {
    const { data } = (await get(path, A)).json()
    const [entry] = [data].flat()
    t.notOk(
      expandable.some((field) => field in entry),
      path,
    )
  }
})

interface Page {
  data: { id: string }[]
  _metadata: {
    total?: number
    hasMore?: boolean
    nextCursor?: string
    unreadable: { id: string; message: string }[]
    pageLinks: { next?: string; previous?: string }
  }
}

const ids = ({ data }: Page) => data.map(({ id }) => id)
const message = 'answers is BSON int32, not an array'
const bad = (number: number) => ({ ...a.entry(number), answers: 5 }) as never

t.test('with `unreadable=skip` a list leaves out the records that do not fit, and names them', async (t) => {
  const { get, store } = await testApp(t, { settings: { TOTAL_MAX_AGE_MS: '0' } })
  await store.insert('entries', [bad(1), a.entry(2), bad(3), bad(4), a.entry(5)])
  const page = async (query: string) => {
    const response = await get(`/v1/entries?unreadable=skip&${query}`, A)
    t.equal(response.statusCode, 200, query)
    return response.json<Page>()
  }
  const whole = await page('')
  t.same(ids(whole), ['entry2-a', 'entry5-a'])
  t.match(whole._metadata, { total: 5, pageCount: 1 })
  t.strictSame(
    whole._metadata.unreadable,
    [1, 3, 4].map((number) => ({ id: `entry${number}-a`, message })),
  )
  t.same((await page('status=none'))._metadata.unreadable, [], 'always there')
  t.same((await get('/v1/entries?fields=id', A)).json()._metadata.unreadable, undefined)
  t.same((await page('fields=status'))._metadata.unreadable, [], 'of what is shown')
  for (const choice of [
    'fields=answers',
    'expand=agent',
    'embed=false',
    'answers=list',
    'sortBy=updatedAt&sortOrder=desc',
  ]) {
    const { data, _metadata } = await page(choice)
    t.same([data.length, _metadata.unreadable.length], [2, 3], choice)
  }

  const walk = async (perPage: number, begin: string, next: (page: Page) => string | undefined) => {
    const pages: Page[] = []
    for (let query: string | undefined = begin; query !== undefined; ) {
      const found: Page = await page(`perPage=${perPage}&${query}`)
      pages.push(found)
      query = next(found)
    }
    return pages
  }
  for (const perPage of [1, 2, 3, 5]) {
    const byCursor = await walk(
      perPage,
      'cursor=*',
      ({ _metadata: { nextCursor } }) => nextCursor && `cursor=${nextCursor}`,
    )
    const byLinks = await walk(perPage, 'page=1', ({ _metadata: { pageLinks } }) => {
      const next = pageLinks.next && new URL(pageLinks.next).searchParams
      return next && `page=${next.get('page')}&after=${next.get('after')}`
    })
    for (const pages of [byCursor, byLinks]) {
      t.equal(pages.length, Math.ceil(5 / perPage), 'as many pages as without it')
      t.same(pages.flatMap(ids), ['entry2-a', 'entry5-a'])
      t.same(
        pages.flatMap(({ _metadata }) => _metadata.unreadable.map(({ id }) => id)),
        ['entry1-a', 'entry3-a', 'entry4-a'],
      )
    }
    t.equal(byCursor[0]?._metadata.hasMore, perPage < 5, 'also if every record of the page does not fit')
  }
})

t.test('a page that leaves out records has another tag when one of them is mended', async (t) => {
  const { get, store } = await testApp(t)
  await store.insert('entries', [a.entry(1), bad(2)])
  const url = '/v1/entries?unreadable=skip&total=false'
  const { headers } = await get(url, A)
  const again = async () => get(url, A, { headers: { 'if-none-match': `${headers.etag}` } })
  t.equal((await again()).statusCode, 304)
  await store.upsert('entries', [a.entry(2)])
  const mended = await again()
  t.equal(mended.statusCode, 200)
  t.same(ids(mended.json()), ['entry1-a', 'entry2-a'])
})

t.test('an embedded record that does not fit leaves out those that embed it', async (t) => {
  const { get, store } = await testApp(t)
  await store.insert('agents', [{ ...a.agent(1), firstName: 5 } as never])
  await store.insert('entries', [a.entry(1), a.entry(2, { agent: 'nobody' })])
  const { data, _metadata } = (await get('/v1/entries?unreadable=skip&expand=agent', A)).json<Page>()
  t.equal(data.length, 1)
  const agent = 'agents/agent1-a: firstName is BSON int32, not a string'
  t.same(_metadata.unreadable, [{ id: 'entry1-a', message: agent }])
})

t.test('with `unreadable=skip` a feed leaves them out too, and goes on behind them', async (t) => {
  const { get, store } = await testApp(t, { settings: { SYNC_SETTLE_MS: '0' } })
  await store.insert('entries', [bad(1), bad(2), a.entry(3), bad(4)])
  const until = (await store.now()).now
  while ((await store.now()).now <= until);
  const seen: unknown[] = []
  let cursor = '*'
  for (const expected of [2, 1]) {
    const { data, _metadata } = (
      await get(`/v1/sync/entries?unreadable=skip&perPage=2&cursor=${cursor}`, A)
    ).json<Page>()
    t.equal(_metadata.unreadable.length, expected)
    t.equal(_metadata.hasMore, expected === 2)
    seen.push(...data.map(({ id }) => id), ..._metadata.unreadable)
    cursor = `${_metadata.nextCursor}`
  }
  const named = (number: number) => ({ id: `entry${number}-a`, message })
  t.strictSame(seen, [named(1), named(2), 'entry3-a', named(4)])
  t.same((await get('/v1/sync/entries', A)).json()._metadata.unreadable, undefined)
})
