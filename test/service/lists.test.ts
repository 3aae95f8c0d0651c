// Filters, sorting, paging and page links, which all lists have in common.
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { expandable } from '../../schemas/entries.js'
import { baseOf } from '../../src/core/http/caller.js'
import { resources } from '../../src/core/pipelines/index.js'
import { pageMetadata } from '../../src/core/read/page.js'
import type { Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { listQuery } from '../support/queries.js'
import { eachResource } from '../support/resources.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

type Body = {
  data: Record<string, string>[]
  _metadata: { total: number; perPage: number; pageCount: number; pageLinks: Record<string, string> }
}

const ids = ({ data }: Body) => data.map(({ id }) => id)

/** The application of the tests that only read. */
const reading = testApp(t, { fill: fillTenants })

t.test('each filter finds the records that match and no others', async (t) => {
  const { get } = await reading
  const cases: [string, string[]][] = [
    ['/v1/dispatches?dispatchType=basic', ['dispatch2-a']],
    ['/v1/dispatches?name=Dispatch%201', ['dispatch1-a']],
    ['/v1/dispatches?name=Dispatch', []],
    ['/v1/dispatches?name=dispatch%201', []],
    ['/v1/dispatches?status=dispatch', ['dispatch1-a', 'dispatch9-a']],
    ['/v1/dispatches?status=dispatched', ['dispatch1-a', 'dispatch9-a']],
    ['/v1/dispatches?status=supended', ['dispatch2-a']],
    ['/v1/dispatches?status=suspended', ['dispatch2-a']],
    ['/v1/dispatches?status=draft', ['dispatch3-a']],
    ['/v1/dispatches?status=completed', []],
    ['/v1/dispatches?form=form-a', ['dispatch1-a', 'dispatch2-a', 'dispatch3-a']],
    ['/v1/dispatches?project=project2-a', ['dispatch2-a']],
    ['/v1/dispatches?agent=agent1-a', ['dispatch1-a', 'dispatch2-a', 'dispatch9-a']],
    ['/v1/dispatches?agent=agent1-a&dispatchType=survey&name=Dispatch%201', ['dispatch1-a']],
    ['/v1/projects?name=Project%202', ['project2-a']],
    ['/v1/entries?dispatch=dispatch2-a', ['entry2-a']],
    ['/v1/entries?form=form-a', ['entry1-a', 'entry2-a', 'entry3-a']],
    ['/v1/entries?project=project1-a', ['entry1-a', 'entry2-a', 'entry3-a']],
    ['/v1/entries?agent=agent2-a', ['entry3-a']],
    ['/v1/entries?status=rejected', ['entry2-a']],
    ['/v1/entries?status=accepted&agent=agent1-a', ['entry1-a']],
    ['/v1/entries?dispatch=nobody', []],
    ['/v1/forms?name=Water%20a', ['form-a']],
    ['/v1/forms?name=Water', []],
    ['/v1/forms?status=active', ['form-a']],
    ['/v1/forms?status=draft', []],
    ['/v1/agents?status=active', ['agent1-a', 'agent2-a']],
    ['/v1/agents?status=draft', []],
    ['/v1/users?status=active', ['user-a']],
    ['/v1/users?status=draft', []],
    ['/v1/entries?ids=entry3-a,entry1-a', ['entry1-a', 'entry3-a']],
    ['/v1/entries?ids=entry3-a&ids=entry1-a,entry2-a', ['entry1-a', 'entry2-a', 'entry3-a']],
    ['/v1/entries?ids=entry3-a,%20entry1-a+,+entry2-a', ['entry1-a', 'entry2-a', 'entry3-a']],
    ['/v1/entries?ids=entry3-a,nobody,entry3-a,entry1-b', ['entry3-a']],
    ['/v1/entries?ids=entry3-a,entry2-a&status=rejected', ['entry2-a']],
    ['/v1/users?ids=user-b', []],
    ['/v1/agents?ids=agent2-a', ['agent2-a']],
  ]
  for (const [url, expected] of cases) {
    const body: Body = (await get(url, A)).json()
    t.same(ids(body), expected, url)
    t.equal(body._metadata.total, expected.length, `${url}: the total`)
  }
})

/** When most records were created and last changed, and when entry2-a was: see test/support/tenants.ts. */
const [CREATED, UPDATED, CREATED_LATER, UPDATED_LATER] = ['01', '02', '08', '09'].map(
  (day) => `2025-01-${day}T08:30:15.250Z`,
) as [string, string, string, string]

t.test('a range has what is at or after its beginning, and before its end', async (t) => {
  const { get } = await reading
  const [late, early] = [['entry2-a'], ['entry1-a', 'entry3-a', 'entry9-a']]
  const all = [...early, ...late].sort()
  const cases: [string, string[]][] = [
    [`updatedSince=${UPDATED}`, all],
    [`updatedBefore=${UPDATED}`, []],
    [`updatedSince=${UPDATED_LATER}`, late],
    [`updatedBefore=${UPDATED_LATER}`, early],
    [`createdSince=${CREATED_LATER}`, late],
    [`createdBefore=${CREATED_LATER}`, early],
    [`createdBefore=${CREATED}`, []],
    [`updatedSince=${UPDATED}&updatedBefore=${UPDATED_LATER}`, early],
    [`updatedSince=${UPDATED_LATER}&updatedBefore=${UPDATED}`, []],
    [`updatedSince=${UPDATED}&createdSince=${CREATED_LATER}&status=rejected`, late],
    ['idFrom=entry2-a&idTo=entry3-a', late],
    ['updatedSince=2025-01-09T08:30:15.251Z', []],
    ['updatedSince=2025-01-09T09:30:15.25%2B01:00', late],
    ['updatedSince=2025-01-09T08:30:15.2509Z', late],
    ['updatedBefore=2025-01-09T08:30:15.2509Z', early],
  ]
  for (const [query, expected] of cases) {
    for (const sort of ['', '&sortBy=updatedAt', '&sortBy=createdAt']) {
      const body: Body = (await get(`/v1/entries?${query}${sort}`, A)).json()
      t.same(ids(body).sort(), expected, query + sort)
      t.equal(body._metadata.total, expected.length, `${query}${sort}: the total`)
    }
  }
})

t.test('a box has the entries inside of it and on its edge, also across the antimeridian', async (t) => {
  const at = (number: number, coordinates: { longitude: number; lattitude: number }) =>
    a.entry(number, { location: { coordinates } })
  const { location, ...nowhere } = a.entry(5)
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert('entries', [
        at(1, { longitude: 8.5, lattitude: 12 }),
        at(2, { longitude: 3.4, lattitude: 6.5 }),
        at(3, { longitude: 179.5, lattitude: -17 }),
        at(4, { longitude: -180, lattitude: -16.5 }),
        nowhere,
        a.entry(6, { location: {} }),
      ]),
  })
  const cases: [string, number[]][] = [
    ['-180,-90,180,90', [1, 2, 3, 4]],
    ['3.4,6.5,8.5,12', [1, 2]],
    ['3.41,6.5,8.5,12', [1]],
    ['3.4,6.5,8.5,11.99', [2]],
    ['3.4,6.5,0,8.5,12,9000', [1, 2]],
    ['3.4&bbox=6.5&bbox=8.5&bbox=12', [1, 2]],
    ['179,-20,-179,-10', [3, 4]],
    ['179,-20,-179,-17', [3]],
    ['4,-90,3.4,90', [1, 2, 3, 4]],
    ['0,0,0,0', []],
  ]
  for (const [box, numbers] of cases) {
    for (const sort of ['', '&sortBy=createdAt&sortOrder=desc']) {
      const body: Body = (await get(`/v1/entries?bbox=${box}${sort}`, A)).json()
      const expected = numbers.map((number) => a.entry(number)._id)
      t.same(ids(body).sort(), expected, box + sort)
      t.equal(body._metadata.total, expected.length, `${box}${sort}: the total`)
    }
  }
  const walked: string[] = []
  for (let query = 'cursor=*'; query !== ''; ) {
    const { data, _metadata } = (await get(`/v1/entries?bbox=179,-20,-179,-10&perPage=1&${query}`, A)).json()
    walked.push(data[0].id)
    query = _metadata.hasMore ? `cursor=${_metadata.nextCursor}` : ''
  }
  t.same(walked, ['entry3-a', 'entry4-a'], 'and can be walked')
})

t.test('a list shows only the fields that a request names, and the id', async (t) => {
  const { get } = await reading
  const data = async (url: string) => (await get(url, A)).json<Body>().data
  t.same(await data('/v1/entries?fields=updatedAt&perPage=1'), [{ id: 'entry1-a', updatedAt: UPDATED }])
  t.same(await data('/v1/entries?fields=id,form&perPage=1&sortBy=duration'), [{ id: 'entry1-a', form: 'form-a' }])
  t.same(await data('/v1/users?fields=role'), [{ id: 'user-a', role: { name: 'Administrator' } }])
  t.same(await data('/v1/dispatches?fields=recipients&ids=dispatch3-a'), [
    { id: 'dispatch3-a', recipients: { agents: [], agentGroups: [] } },
  ])
  const [project] = await data('/v1/projects?fields=dispatches,createdBy&perPage=1')
  t.match(project, { id: 'project1-a', dispatches: [{ id: 'dispatch1-a' }, {}], createdBy: { id: 'user-a' } })
  t.same(Object.keys(project ?? {}), ['id', 'dispatches', 'createdBy'])
  for (const [name, { item }] of eachResource) {
    const [whole] = await data(`/v1/${name}?perPage=1`)
    t.same(await data(`/v1/${name}?perPage=1&fields=${Object.keys(item.schema.properties)}`), [whole], name)
    for (const field of Object.keys(item.schema.properties)) {
      const expected = whole && field in whole ? { id: whole.id, [field]: whole[field] } : { id: whole?.id }
      t.same(await data(`/v1/${name}?perPage=1&fields=${field}`), [expected], `${name} ${field}`)
    }
  }
})

t.test('without embedding, a list shows what its records store, and makes no join', async (t) => {
  const { get } = await reading
  const data = async (url: string) => (await get(url, A)).json<Body>().data
  for (const [name] of eachResource) {
    const whole = await data(`/v1/${name}`)
    const flat = await data(`/v1/${name}?embed=false`)
    t.strictSame(await data(`/v1/${name}?embed=true`), whole, `${name}: embedding is the default`)
    const idOf = (author: unknown) => ({ id: author })
    for (const [i, { dispatches, createdBy, modifiedBy, ...own }] of whole.entries()) {
      const { createdBy: creator, modifiedBy: modifier, ...stored } = flat[i] ?? {}
      t.strictSame(stored, own, name)
      if (createdBy !== undefined)
        t.match({ createdBy, modifiedBy }, { createdBy: idOf(creator), modifiedBy: idOf(modifier) })
    }
    const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50, embed: 'false' } as const
    const { stages, references } = listQuery(resources[name], { organisation: A }, listing as never)
    t.same([stages.filter(({ $lookup }) => $lookup), references], [[], []], `${name} reads one collection`)
  }
  t.strictSame(await data('/v1/projects?embed=false&fields=createdBy,dispatches&perPage=1'), [
    { id: 'project1-a', createdBy: 'user-a' },
  ])
  t.strictSame(await data('/v1/dispatches?embed=false&fields=recipients,modifiedBy&ids=dispatch1-a'), [
    {
      id: 'dispatch1-a',
      recipients: { agents: [{ id: 'agent2-a' }, { id: 'agent1-a' }], agentGroups: [{ id: 'group-a' }] },
      modifiedBy: 'user-a',
    },
  ])
})

t.test('each set of fields and of records to expand has its own tag', async (t) => {
  const { get } = await reading
  const queries = [
    'sortBy=updatedAt',
    'sortBy=updatedAt&fields=id',
    'sortBy=updatedAt&fields=id,updatedAt',
    'sortBy=updatedAt&fields=id,form',
    'sortBy=updatedAt&fields=id,form&expand=form',
    'sortBy=updatedAt&expand=form',
    'sortBy=updatedAt&expand=agent',
  ]
  const tags = new Set<string>()
  for (const query of queries) {
    const { headers } = await get(`/v1/entries?${query}`, A)
    const again = await get(`/v1/entries?${query}`, A, { headers: { 'if-none-match': headers.etag as string } })
    t.equal(again.statusCode, 304, query)
    tags.add(headers.etag as string)
  }
  t.equal(tags.size, queries.length)
})

t.test('a list embeds the records that a request expands, and no others', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants })
  const list = async (query: string) => (await get(`/v1/entries?${query}`, A)).json<Body>().data
  const byId = (await get('/v1/entries/entry1-a', A)).json().data
  const [first] = await list('expand=form,agent&perPage=1')
  t.same(first, { ...byId, dispatch: 'dispatch1-a', project: 'project1-a' })
  t.same(await list('fields=form&expand=form,agent&ids=entry1-a'), [{ id: 'entry1-a', form: byId.form }])
  await store.insert('entries', [a.entry(5, { dispatch: 'gone', agent: 'gone' })])
  const [lost] = await list('ids=entry5-a&expand=agent')
  t.notOk(lost && 'agent' in lost, 'as in the entry by id, what is gone is left out')
  t.equal(lost?.dispatch, 'gone')
})

t.test('a page reads each collection that it expands once', async (t) => {
  const store = testStore(t)
  const asked: unknown[] = []
  const aggregate: Store['aggregate'] = (query, reading) => {
    const [{ _id: ids }] = query.match.$and as [{ _id?: { $in: string[] } }]
    asked.push([query.collection, ids?.$in.toSorted()])
    return store.aggregate(query, reading)
  }
  const { get } = await testApp(t, { store: { ...store, aggregate }, fill: fillTenants })
  await get(`/v1/entries?expand=${expandable}`, A)
  t.same(asked, [
    ['entries', undefined],
    ['dispatches', ['dispatch1-a', 'dispatch1-b', 'dispatch2-a']],
    ['forms', ['form-a', 'form-b']],
    ['projects', ['project1-a', 'project1-b']],
    ['agents', ['agent1-a', 'agent1-b', 'agent2-a']],
  ])
})

t.test(
  'a list is sorted as requested, and records that are equal are sorted by id in the same direction',
  async (t) => {
    // Documents that are first in the order of ids and last in every other order.
    const late = { createdAt: new Date('2030-01-01'), updatedAt: new Date('2030-01-01') }
    const fill = async (store: Store) => {
      await fillTenants(store)
      await store.insert('entries', [a.entry(0, { duration: 999, ...late })])
      await store.insert('dispatches', [a.dispatch(0, { name: 'Zuma', ...late })])
      await store.insert('projects', [{ ...a.project(0), name: 'Zuma', ...late }])
      await store.insert('forms', [{ ...a.form, _id: '0-a', name: 'Zuma', ...late }])
      await store.insert('agents', [{ ...a.agent(0), _id: '0-a', ...late }])
      await store.insert('users', [{ ...a.user, _id: '0-a', ...late }])
    }
    const { get } = await testApp(t, { fill })
    const cases: [string, string[]][] = [
      ['/v1/entries', ['entry0-a', 'entry1-a', 'entry2-a', 'entry3-a', 'entry9-a']],
      ['/v1/entries?sortOrder=desc', ['entry9-a', 'entry3-a', 'entry2-a', 'entry1-a', 'entry0-a']],
      ['/v1/entries?sortBy=createdAt', ['entry1-a', 'entry3-a', 'entry9-a', 'entry2-a', 'entry0-a']],
      ['/v1/entries?sortBy=createdAt&sortOrder=desc', ['entry0-a', 'entry2-a', 'entry9-a', 'entry3-a', 'entry1-a']],
      ['/v1/entries?sortBy=updatedAt&sortOrder=desc', ['entry0-a', 'entry2-a', 'entry9-a', 'entry3-a', 'entry1-a']],
      ['/v1/entries?sortBy=duration&sortOrder=desc', ['entry0-a', 'entry9-a', 'entry3-a', 'entry2-a', 'entry1-a']],
      ['/v1/dispatches?sortBy=name', ['dispatch1-a', 'dispatch2-a', 'dispatch3-a', 'dispatch9-a', 'dispatch0-a']],
      [
        '/v1/dispatches?sortBy=dispatchType',
        ['dispatch2-a', 'dispatch3-a', 'dispatch0-a', 'dispatch1-a', 'dispatch9-a'],
      ],
      [
        '/v1/dispatches?sortBy=createdAt&sortOrder=desc',
        ['dispatch0-a', 'dispatch2-a', 'dispatch9-a', 'dispatch3-a', 'dispatch1-a'],
      ],
      ['/v1/projects?sortBy=createdAt', ['project1-a', 'project2-a', 'project9-a', 'project0-a']],
      ['/v1/projects?sortBy=name&sortOrder=desc', ['project0-a', 'project9-a', 'project2-a', 'project1-a']],
      ['/v1/projects?sortBy=updatedAt', ['project1-a', 'project2-a', 'project9-a', 'project0-a']],
      ['/v1/dispatches?sortBy=updatedAt&sortOrder=desc&perPage=1', ['dispatch0-a']],
      ...['forms', 'agents', 'users'].flatMap((name): [string, string[]][] => [
        [`/v1/${name}?sortBy=createdAt&sortOrder=desc&perPage=1`, ['0-a']],
        [`/v1/${name}?sortBy=updatedAt&sortOrder=desc&perPage=1`, ['0-a']],
      ]),
      ['/v1/forms?sortBy=name', ['form-a', '0-a']],
      ['/v1/projects?sortBy=id', ['project0-a', 'project1-a', 'project2-a', 'project9-a']],
    ]
    for (const [url, expected] of cases) t.same(ids((await get(url, A)).json()), expected, url)
  },
)

t.test('pages are cut from the whole list', async (t) => {
  const { get } = await reading
  const page = async (number: number): Promise<Body> => (await get(`/v1/entries?perPage=3&page=${number}`, A)).json()
  t.same(ids(await page(1)), ['entry1-a', 'entry2-a', 'entry3-a'])
  t.same(ids(await page(2)), ['entry9-a'])
  t.same(ids(await page(3)), [])
  t.match((await page(2))._metadata, { total: 4, perPage: 3, pageCount: 2 })
})

t.test('links lead to neighbours that exist and repeat every parameter', async (t) => {
  const { get } = await reading
  const links = async (query: string): Promise<Record<string, string>> =>
    (await get(`/v1/entries?${query}`, A, { headers: { host: 'api.example.org' } })).json()._metadata.pageLinks
  const base = 'http://api.example.org/v1/entries?'

  const withoutTokens = (found: Record<string, string>) =>
    Object.fromEntries(Object.entries(found).map(([name, url]) => [name, url.replace(/&after=[\w-]+$/, '&after=…')]))

  t.same(withoutTokens(await links('perPage=2')), {
    current: `${base}page=1&perPage=2`,
    next: `${base}page=2&perPage=2&after=…`,
  })
  t.same(withoutTokens(await links('perPage=2&page=2')), {
    current: `${base}page=2&perPage=2`,
    previous: `${base}page=1&perPage=2&after=…`,
  })
  t.same(
    await links('perPage=2&page=7'),
    { current: `${base}page=7&perPage=2`, previous: `${base}page=2&perPage=2` },
    'previous of a page beyond the end is the last page',
  )
  t.same(
    await links('status=nothing&page=7'),
    { current: `${base}status=nothing&page=7&perPage=50`, previous: `${base}status=nothing&page=1&perPage=50` },
    'previous of a page of an empty list is its first page',
  )
  t.same(await links('status=nothing'), { current: `${base}status=nothing&page=1&perPage=50` })
})

t.test('the Link header has the links to the neighbours, unless they are too long', async (t) => {
  const { get } = await reading
  const linksOf = async (query: string) => {
    const { headers, ...response } = await get(`/v1/entries?${query}`, A)
    const { next, previous } = response.json()._metadata.pageLinks
    return { header: headers.link, next, previous }
  }
  const first = await linksOf('perPage=2')
  t.equal(first.header, `<${first.next}>; rel="next"`)
  const last = await linksOf('perPage=2&page=2')
  t.equal(last.header, `<${last.previous}>; rel="prev"`)
  const middle = await linksOf('perPage=1&page=2')
  t.equal(middle.header, `<${middle.next}>; rel="next", <${middle.previous}>; rel="prev"`)
  t.equal((await linksOf('perPage=50')).header, undefined)
  const long = await linksOf(`perPage=1&ids=${a.entry(1)._id},${a.entry(2)._id},${'x'.repeat(2000)}`)
  t.ok(long.next)
  t.equal(long.header, undefined)
})

t.test('a link encodes the parameters that it repeats, so that it has the same filter', async (t) => {
  const { get } = await reading
  const name = 'Ọjà & café = 100% +1'
  const url = `/v1/dispatches?sortOrder=desc&status=dispatch&name=${encodeURIComponent(name)}`
  const { current } = (await get(url, A)).json()._metadata.pageLinks
  const parameters = new URL(current).searchParams
  t.same(Object.fromEntries(parameters), { sortOrder: 'desc', status: 'dispatch', name, page: '1', perPage: '50' })
  t.equal((await get(current.replace('http://localhost:80', ''), A)).json()._metadata.pageLinks.current, current)
})

t.test('links begin with PUBLIC_URL when it is set', async (t) => {
  const settings = { PUBLIC_URL: 'https://api.example.org/field/' }
  const { get } = await testApp(t, { fill: fillTenants, settings })
  const { current } = (await get('/v1/projects', A)).json()._metadata.pageLinks
  t.equal(current, 'https://api.example.org/field/v1/projects?page=1&perPage=50')
})

t.test('without a Host header links begin with the address of the connection, in brackets if it is IPv6', async (t) => {
  for (const [localAddress, origin] of [
    ['127.0.0.1', 'http://127.0.0.1:3000'],
    ['::1', 'http://[::1]:3000'],
  ]) {
    const socket = { localAddress, localPort: 3000 }
    const request = { server: { config: {} }, protocol: 'http', host: '', socket } as FastifyRequest
    const asked = { url: '/v1/entries', base: () => baseOf(request) }
    const found = { rows: [], next: undefined, previous: undefined }
    const encode = () => t.fail('there is no neighbour') as never
    const { current } = pageMetadata(asked, { page: 1, perPage: 50 }, found, 0, { encode }).pageLinks
    t.equal(current, `${origin}/v1/entries?page=1&perPage=50`)
  }
})

t.test('forwarded host and protocol count only when they come from a trusted proxy', async (t) => {
  const headers = { host: 'inner:3000', 'x-forwarded-host': 'api.example.org', 'x-forwarded-proto': 'https' }
  for (const [settings, origin] of [
    [undefined, 'http://inner:3000'],
    [{ TRUST_PROXY: '10.0.0.1' }, 'http://inner:3000'],
    [{ TRUST_PROXY: '10.0.0.1, 127.0.0.0/8' }, 'https://api.example.org'],
  ] as const) {
    const { get } = settings ? await testApp(t, { fill: fillTenants, settings }) : await reading
    const { current } = (await get('/v1/projects', A, { headers })).json()._metadata.pageLinks
    t.equal(current, `${origin}/v1/projects?page=1&perPage=50`)
  }
})

t.test('the defaults of projects are page 1 with 50 a page, or literally those of the contract', async (t) => {
  const usual = await reading
  t.match((await usual.get('/v1/projects', A)).json(), { data: { length: 3 }, _metadata: { perPage: 50 } })
  const literal = await testApp(t, { fill: fillTenants, settings: { PROJECT_DEFAULTS: 'literal' } })
  const { data, _metadata } = (await literal.get('/v1/projects', A)).json()
  t.same(data, [])
  t.match(_metadata, { total: 3, perPage: 1, pageCount: 3 })
  t.match(_metadata.pageLinks.current, /page=50&perPage=1$/)
  t.match((await literal.get('/v1/entries', A)).json()._metadata, { perPage: 50 }, 'the others keep theirs')
})

t.test('the largest page is far beyond the data and empty, not an error', async (t) => {
  const { get } = await reading
  const response = await get('/v1/entries?page=2147483647&perPage=1000', A)
  t.equal(response.statusCode, 200)
  t.same(response.json().data, [])
})

t.test('a caller who follows next gets every record, however old the total is', async (t) => {
  const store = testStore(t)
  let counted = 0
  const { get } = await testApp(t, {
    store: { ...store, count: async () => counted },
    fill: fillTenants,
    settings: { TOTAL_MAX_AGE_MS: '0' },
  })
  for (counted of [0, 1, 2, 3, 4, 5, 9]) {
    for (let perPage = 1; perPage <= 5; perPage++) {
      const found: (string | undefined)[] = []
      let path: string | undefined = `/v1/entries?perPage=${perPage}`
      while (path !== undefined) {
        const body: Body = (await get(path, A)).json()
        found.push(...ids(body))
        path = body._metadata.pageLinks.next?.replace(/^https?:\/\/[^/]+/, '')
        t.ok(body._metadata.total >= body.data.length)
      }
      t.same(found, ['entry1-a', 'entry2-a', 'entry3-a', 'entry9-a'], `${perPage} a page, counted ${counted}`)
    }
  }
})
