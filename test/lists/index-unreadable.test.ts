// `unreadable=skip`: lists and feeds leave out the records that do not fit, and go on rightly.
import t from 'tap'
import { testApp } from '../support/app.js'
import { A, a } from '../support/tenants.js'

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
