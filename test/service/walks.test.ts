// Walks through whole lists over HTTP: by cursor and by links, in every order, with what each response says.
import t from 'tap'
import type { PageMetadata } from '../../schemas/envelope.js'
import type { Query } from '../../src/core/pipelines/stages.js'
import { testApp } from '../support/app.js'
import { inEach } from '../support/each.js'
import { eachResource } from '../support/resources.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'
import { isThorough, leftToGate } from '../support/thorough.js'

interface Body {
  data: { id: string }[]
  _metadata: PageMetadata
}

const pathOf = (url: string | undefined) => url?.replace(/^https?:\/\/[^/]+/, '')
const ids = ({ data }: Body) => data.map(({ id }) => id)

/** The application of the tests that only read. */
const reading = testApp(t, { fill: fillTenants })

t.test(
  'a walk by cursor, by next and by previous goes through each list in each of its orders',
  { skip: leftToGate },
  inEach(async (each) => {
    const { get } = await reading
    const page = async (path: string): Promise<Body> => (await get(path, A)).json()
    /** The pages from a path on, by one of their links. */
    const walk = async (first: string, link: 'next' | 'previous'): Promise<Body[]> => {
      const pages: Body[] = []
      for (
        let path: string | undefined = first;
        path !== undefined;
        path = pathOf(pages.at(-1)?._metadata.pageLinks[link])
      )
        pages.push(await page(path))
      return pages
    }
    for (const [name, { query }] of eachResource) {
      for (const sortBy of query.properties.sortBy?.enum ?? []) {
        for (const sortOrder of ['asc', 'desc']) {
          const list = `/v1/${name}?sortBy=${sortBy}&sortOrder=${sortOrder}&perPage=`
          const whole = ids(await page(`${list}50`))
          const forwards = await walk(`${list}1`, 'next')
          each.equal(forwards.flatMap(ids), whole, `${list} by next`)
          each.equal((await walk(`${list}2&cursor=*`, 'next')).flatMap(ids), whole, `${list} by cursor`)
          for (const [n, { _metadata }] of forwards.entries()) {
            each.equal(_metadata.hasMore, n + 1 < whole.length, `${list} ${n}`)
            const { nextCursor } = _metadata
            each.equal(nextCursor !== undefined, _metadata.hasMore, `${list} ${n}`)
            // The daily run goes on from the first page and from the last that has a next one.
            const isTried = isThorough || n === 0 || n + 2 === whole.length
            if (nextCursor === undefined || !isTried) continue
            const rest = await walk(`${list}2&cursor=${nextCursor}`, 'next')
            each.equal(rest.flatMap(ids), whole.slice(n + 1), `${list} by the cursor of numbered page ${n + 1}`)
          }
          const backwards = await walk(pathOf(forwards.at(-1)?._metadata.pageLinks.current) as string, 'previous')
          each.equal(backwards.reverse().flatMap(ids), whole, `${list} by previous`)
        }
      }
    }
  }),
)

t.test(
  'a page with a number has a cursor that goes on, unless it ends in a record without a position; a walk ends before it',
  async (t) => {
    const { get, store } = await testApp(t, { fill: fillTenants })
    const page = async (query: string): Promise<Body> => (await get(`/v1/entries?${query}`, A)).json()
    const first = await page('status=accepted&perPage=1&page=2&total=false')
    const rest = await page(`status=accepted&perPage=1&cursor=${first._metadata.nextCursor}`)
    t.same([...ids(first), ...ids(rest)], ids(await page('status=accepted')).slice(1))
    const tag = (await get('/v1/entries?perPage=4&total=false', A)).headers.etag
    await store.insert('entries', [a.entry(98, { duration: {} as never }), a.entry(99, { duration: {} as never })])
    t.not(
      (await get('/v1/entries?perPage=4&total=false', A)).headers.etag,
      tag,
      'the entity tag covers whether there is more',
    )

    const last = await page('fields=id&sortBy=duration&perPage=5')
    t.same(ids(last).slice(-1), ['entry98-a'])
    t.match(last._metadata, { hasMore: true, nextCursor: undefined, pageLinks: { next: /page=2/ } })
    const walk = 'fields=id&sortBy=duration&perPage=5&cursor='
    const shorter = await page(`${walk}*`)
    t.same(ids(shorter), ids(last).slice(0, -1))
    t.same(ids(await page(walk + shorter._metadata.nextCursor)), ['entry98-a', 'entry99-a'])
  },
)

t.test('a page by cursor says how to go on, and has a total only on request', async (t) => {
  const { get } = await reading
  const metadata = async (path: string): Promise<PageMetadata> =>
    (await get(path, A, { headers: { host: 'api.example.org' } })).json()._metadata
  const base = 'http://api.example.org/v1/entries?status=accepted'
  const first = await metadata('/v1/entries?status=accepted&perPage=2&cursor=*')
  const cursor = first.nextCursor as string
  t.strictSame(first, {
    perPage: 2,
    hasMore: true,
    nextCursor: cursor,
    pageLinks: { current: `${base}&perPage=2&cursor=*`, next: `${base}&perPage=2&cursor=${cursor}` },
  })
  t.strictSame(await metadata(`/v1/entries?cursor=${cursor}&status=accepted&total=true`), {
    total: 3,
    perPage: 50,
    hasMore: false,
    pageLinks: { current: `${base}&total=true&perPage=50&cursor=${cursor}` },
  })
  t.match(await metadata('/v1/entries?perPage=4&cursor=*'), { hasMore: false }, 'a full page may be the last')
  t.match(await metadata('/v1/entries?status=nothing&cursor=*'), { hasMore: false })
})

t.test('a walk by cursor begins at the beginning, whatever the default of page is', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants, settings: { PROJECT_DEFAULTS: 'literal' } })
  t.same(ids((await get('/v1/projects?cursor=*', A)).json()), ['project1-a'])
})

t.test('links lose nothing when records before them are deleted, and lead on whatever the total says', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants, settings: { TOTAL_MAX_AGE_MS: '0' } })
  const page = async (path: string | undefined): Promise<Body> => (await get(path as string, A)).json()
  const first = await page('/v1/entries?perPage=2')
  t.same(ids(first), ['entry1-a', 'entry2-a'])
  await store.insert('entries', [a.entry(0), a.entry(95), a.entry(96)])
  await store.remove('entries', A, ['entry0-a', 'entry1-a', 'entry2-a'])
  const second = await page(pathOf(first._metadata.pageLinks.next))
  t.same(ids(second), ['entry3-a', 'entry9-a'])
  t.match(second._metadata, { total: 4, pageCount: 2, pageLinks: { next: /page=3/, previous: /page=1/ } })
  const third = await page(pathOf(second._metadata.pageLinks.next))
  t.same(ids(third), ['entry95-a', 'entry96-a'])
  t.notOk('next' in third._metadata.pageLinks, 'a full page that is the last')
  t.same(ids(await page(pathOf(second._metadata.pageLinks.previous))), [])
})

t.test('total=false leaves out what a count gives, and the count itself', async (t) => {
  const store = testStore(t)
  let counts = 0
  const count = (query: Query) => {
    counts += 1
    return store.count(query)
  }
  const { get } = await testApp(t, { store: { ...store, count }, fill: fillTenants })
  const { _metadata } = (await get('/v1/entries?perPage=3&total=false', A)).json()
  t.same(Object.keys(_metadata), ['perPage', 'hasMore', 'nextCursor', 'pageLinks'])
  t.match(_metadata.pageLinks, {
    current: /total=false&page=1&perPage=3$/,
    next: /total=false&page=2&perPage=3&after=/,
  })
  await get('/v1/entries?perPage=3&cursor=*', A)
  t.equal(counts, 0)
  t.match((await get('/v1/entries?page=7&total=false', A)).json()._metadata.pageLinks, { previous: /page=6/ })
  t.match((await get('/v1/entries?page=2147483647&after=x', A)).json(), { code: 'invalid_cursor' })
})

t.test('without a total, a record elsewhere leaves the entity tag of a page as it is', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants, settings: { TOTAL_MAX_AGE_MS: '0' } })
  const links = (await get('/v1/entries?perPage=1&total=false', A)).json()._metadata.pageLinks
  const { nextCursor } = (await get('/v1/entries?perPage=1&cursor=*', A)).json()._metadata
  const stable = [
    '/v1/entries?perPage=1&total=false',
    pathOf(links.next) as string,
    '/v1/entries?perPage=1&cursor=*',
    `/v1/entries?perPage=1&cursor=${nextCursor}`,
  ]
  const paths = [...stable, '/v1/entries?perPage=1', `/v1/entries?perPage=1&total=true&cursor=${nextCursor}`]
  const tags = new Map<string, string>()
  for (const path of paths) tags.set(path, (await get(path, A)).headers.etag as string)
  const status = async (path: string) =>
    (await get(path, A, { headers: { 'if-none-match': tags.get(path) as string } })).statusCode
  for (const path of paths) t.equal(await status(path), 304, path)
  await store.insert('entries', [a.entry(99)])
  for (const path of paths) t.equal(await status(path), stable.includes(path) ? 304 : 200, path)
})

t.test('a walk by cursor goes on after the longest ids and names, and its links do too', async (t) => {
  const { get, store } = await testApp(t)
  const longest = (character: string, length: number) => character.repeat(length / character.length)
  for (const character of ['\u20ac', '\u{1f30d}', '\u0001', '"']) {
    const organisation = `of-${character.codePointAt(0)}`
    const name = longest(character, 250)
    const forms = [1, 2, 3].map((n) => ({ ...a.form, organisation, name, _id: `${n}${longest(character, 498)}` }))
    await store.insert('forms', forms)
    for (const first of ['/v1/forms?sortBy=name&perPage=1&cursor=*', '/v1/forms?sortBy=name&perPage=1']) {
      const found: string[] = []
      for (let path: string | undefined = first; path !== undefined; ) {
        const response = await get(path, organisation)
        t.equal(response.statusCode, 200, `${first} ${path.length}`)
        const body: Body = response.json()
        found.push(...ids(body))
        path = pathOf(body._metadata.pageLinks.next)
        t.ok(path === undefined || path.includes('cursor=') || path.includes('after='))
      }
      t.same(
        found,
        forms.map(({ _id }) => _id),
      )
    }
  }
})
