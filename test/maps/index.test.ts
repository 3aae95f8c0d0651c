// OGC API - Features: pages, items by their filters, links, media types.
import t from 'tap'
import type { Link } from '../../schemas/ogc.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { testApp } from '../support/app.js'
import { A, a, b, fillTenants } from '../support/tenants.js'

const ROOT = '/v1/ogc'
const ITEMS = `${ROOT}/collections/entries/items`
const GEOJSON = 'application/geo+json'

/** The application of the tests that only read. */
const reading = testApp(t, { fill: fillTenants })

interface FeatureCollection {
  type: string
  features: { type: string; id: string; geometry: object | null; properties: Record<string, unknown> }[]
  links: Link[]
  timeStamp: string
  numberReturned: number
}

const ids = ({ features }: FeatureCollection) => features.map(({ id }) => id)
const hrefOf = (links: readonly Link[], rel: string): string | undefined => links.find((link) => link.rel === rel)?.href

t.test('the landing page leads to everything, with a slash at its end or not', async (t) => {
  const { get } = await reading
  const page = await get(ROOT, A)
  t.equal(page.headers['content-type'], 'application/json')
  t.equal((await get(`${ROOT}/`, A)).body, page.body)
  const { links } = page.json<{ links: Link[] }>()
  t.same(
    links.map(({ rel }) => rel),
    ['self', 'service-desc', 'conformance', 'data'],
  )
  const origin = String(hrefOf(links, 'self')).replace(ROOT, '')
  const follow = async (href: string) => {
    t.ok(href.startsWith(`${origin}${ROOT}`), href)
    const response = await get(href.slice(origin.length), A)
    t.equal(response.statusCode, 200, href)
    return response
  }
  for (const { href, type } of links) t.equal((await follow(href)).headers['content-type'], type, href)
  const { collections, links: own } = (await follow(String(hrefOf(links, 'data')))).json()
  t.equal(hrefOf(own, 'self'), hrefOf(links, 'data'))
  t.equal(collections.length, 1)
  t.match(collections[0], { id: 'entries', itemType: 'feature', crs: [/CRS84$/] })
  for (const { href, type } of collections[0].links) {
    t.equal((await follow(href)).headers['content-type'], type, href)
  }
  t.same((await get(`${ROOT}/collections/entries`, A)).json(), collections[0])
  t.match((await get(`${ROOT}/conformance`, A)).json(), {
    conformsTo: [
      ...['core', 'geojson', 'oas30', 'queryables', 'queryables-query-parameters'],
      ...['schemas', 'advanced-property-roles', 'returnables-and-receivables'],
    ].map((name) => new RegExp(`/conf/${name}$`)),
  })
  t.equal((await get(`${ROOT}/collections/forms`, A)).statusCode, 404)
})

t.test('every queryable is a parameter of the items', async (t) => {
  const { get } = await reading
  const schema = (await get(`${ROOT}/collections/entries/queryables`, A)).json()
  t.match(schema, { $schema: /2020-12/, $id: /\/queryables$/, type: 'object', additionalProperties: false })
  const names = ['dispatch', 'form', 'project', 'agent', 'status', 'country', 'state', 'lga', 'city']
  t.same(Object.keys(schema.properties), names)
  for (const name of Object.keys(schema.properties)) {
    t.same((await get(`${ITEMS}?${name}=nothing`, A)).json().features, [], name)
  }
})

t.test('the schemas have the columns of features with their types, as far as the key sees them', async (t) => {
  const { app, store, get } = await testApp(t, { fill: fillTenants })
  const { links } = (await get(`${ROOT}/collections/entries`, A)).json()
  const path = (rel: string) => new URL(String(hrefOf(links, rel))).pathname
  const schemaOf = async (rel: string) => (await get(path(rel), A)).json()
  const { geometry, ...columns } = (await schemaOf('http://www.opengis.net/def/rel/ogc/1.0/schema')).properties
  t.match(geometry, { 'x-ogc-role': 'primary-geometry', format: 'geometry-point' })
  const [feature] = (await get(`${ITEMS}?limit=1`, A)).json().features
  const { id, ...shown } = feature.properties
  t.same(Object.keys(columns).sort(), Object.keys(shown).sort())
  for (const [name, value] of Object.entries(shown)) t.equal(columns[name].type, typeof value, name)
  t.match(columns.createdAt, { format: 'date-time', 'x-ogc-role': 'primary-instant' })
  t.notOk(columns.updatedAt.format)
  for (const rel of ['describedby', 'describedBy']) {
    const { type, properties } = await schemaOf(rel)
    t.match({ type, properties }, { type: 'object', properties: { type: { const: 'Feature' }, geometry } })
    t.same(properties.properties, { type: 'object', properties: columns }, rel)
  }
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Test', without: ['places'] })
  const headers = { authorization: `Bearer ${key}` }
  for (const rel of ['describedby', 'http://www.opengis.net/def/rel/ogc/1.0/schema']) {
    t.notMatch((await app.inject({ url: path(rel), headers })).body, /location|geometry/, rel)
  }
})

t.test('the collection says where and when its entries are', async (t) => {
  const { app, store, get } = await testApp(t, { fill: fillTenants })
  const { extent } = (await get(`${ROOT}/collections`, A)).json().collections[0]
  t.same(extent.spatial, { bbox: [[8.5387, 11.9805, 8.5387, 11.9805]] })
  t.same(extent.temporal, { interval: [['2025-01-01T08:30:15.250Z', '2025-01-08T08:30:15.250Z']] })
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Test', without: ['places'] })
  const headers = { authorization: `Bearer ${key}` }
  const { temporal } = extent
  t.same((await app.inject({ url: `${ROOT}/collections/entries`, headers })).json().extent, { temporal })
  t.notOk('extent' in (await get(`${ROOT}/collections/entries`, 'nobody')).json())
})

t.test('an entry is a feature with flat properties', async (t) => {
  const { get } = await reading
  const response = await get(`${ITEMS}?limit=1`, A)
  t.equal(response.headers['content-type'], GEOJSON)
  const { features, timeStamp, ...page } = response.json<FeatureCollection>()
  t.match(page, { type: 'FeatureCollection', numberReturned: 1 })
  t.equal(new Date(timeStamp).toISOString(), timeStamp)
  const [entry] = (await get('/v1/entries?perPage=1', A)).json().data
  const { location, ...fields } = entry
  const { coordinates, ...place } = location
  const feature = {
    type: 'Feature',
    id: entry.id,
    geometry: { type: 'Point', coordinates: [coordinates.longitude, coordinates.lattitude] },
    properties: {
      ...fields,
      answers: JSON.stringify(fields.answers),
      updatedAt: fields.updatedAt.replace('T', 't'),
      ...Object.fromEntries(Object.entries(place).map(([name, value]) => [`location.${name}`, value])),
      'location.coordinates.longitude': coordinates.longitude,
      'location.coordinates.lattitude': coordinates.lattitude,
    },
  }
  t.same(features, [feature])
  const one = await get(`${ITEMS}/${entry.id}`, A)
  t.equal(one.headers['content-type'], GEOJSON)
  const { links, ...found } = one.json()
  t.same(found, feature)
  t.match(hrefOf(links, 'self'), new RegExp(`${ITEMS}/${entry.id}$`))
  t.match(hrefOf(links, 'collection'), /\/collections\/entries$/)
  t.match((await get(`${ITEMS}/nobody`, A)).json(), { status: 404, code: 'not_found' })
})

t.test('an entry without coordinates has no geometry, and an id of any characters has its link', async (t) => {
  const { location, ...nowhere } = a.entry(1)
  const { get } = await testApp(t, {
    fill: (store) => store.insert('entries', [{ ...nowhere, _id: 'a/b c?' }, a.entry(2, { location: {} })]),
  })
  const { features }: FeatureCollection = (await get(ITEMS, A)).json()
  t.same(
    features.map(({ geometry }) => geometry),
    [null, null],
  )
  const { links } = (await get(`${ITEMS}/a%2Fb%20c%3F`, A)).json()
  t.match(hrefOf(links, 'self'), /\/items\/a%2Fb%20c%3F$/)
  t.equal((await get(new URL(String(hrefOf(links, 'self'))).pathname, A)).statusCode, 200)
})

t.test('items are filtered by box, time and properties', async (t) => {
  const { get } = await testApp(t, {
    fill: (store) =>
      store.insert('entries', [
        a.entry(1, { createdAt: new Date('2025-03-01T00:00:00.000Z') }),
        a.entry(2, { createdAt: new Date('2025-02-01T00:00:00.000Z'), status: 'rejected' }),
        a.entry(3, { location: { coordinates: { longitude: 179.5, lattitude: -17 } } }), // of January 1st
        b.entry(4),
      ]),
  })
  const cases: [string, number[]][] = [
    ['', [1, 2, 3]],
    ['f=json', [1, 2, 3]],
    ['bbox=8,11,9,12', [1, 2]],
    ['bbox=8,11,0,9,12,100', [1, 2]],
    ['bbox=179,-20,-179,-10', [3]],
    ['datetime=2025-03-01T00:00:00Z', [1]],
    ['datetime=2025-03-01T00:00:00.001Z', []],
    ['datetime=2025-02-01', [2]],
    ['datetime=2025-02-01/2025-03-01', [2, 1]],
    ['datetime=../2025-02-01T', [3]],
    ['datetime=2025-01-01T08:30:15Z', [3]],
    ['datetime=../2025-01-01T08:30:15Z', [3]],
    ['datetime=2025-02-01T00:00:00Z/2025-03-01T00:00:00Z', [2, 1]],
    ['datetime=2025-02-01T00:00:00Z/2025-02-28T23:59:59.999Z', [2]],
    ['datetime=2025-02-01T00:00:00Z/..', [2, 1]],
    ['datetime=../2025-02-01T00:00:00Z', [3, 2]],
    ['datetime=/2025-02-01T00:00:00Z', [3, 2]],
    ['datetime=2025-03-01T00:00:00Z/2025-02-01T00:00:00Z', []],
    ['status=rejected', [2]],
    ['form=form-a&project=project1-a&dispatch=dispatch1-a&agent=agent1-a&status=accepted', [1, 3]],
    ['bbox=8,11,9,12&datetime=../2025-02-15T00:00:00Z&status=rejected', [2]],
  ]
  for (const [query, numbers] of cases) {
    const expected = numbers.map((number) => a.entry(number)._id)
    t.same(ids((await get(`${ITEMS}?${query}`, A)).json()), expected, query)
    const walked: string[] = []
    for (let url: string | undefined = `${ITEMS}?${query}&limit=1`; url !== undefined; ) {
      const page: FeatureCollection = (await get(url, A)).json()
      t.equal(page.numberReturned, page.features.length)
      walked.push(...ids(page))
      url = hrefOf(page.links, 'next')?.replace(/^https?:\/\/[^/]+/, '')
    }
    t.same(walked, expected, `${query}, walked`)
  }
})

t.test('a page has ten features by default, and at most as many as a list', async (t) => {
  const { get } = await testApp(t, {
    settings: { MAX_PER_PAGE: '60' },
    fill: (store) =>
      store.insert(
        'entries',
        Array.from({ length: 70 }, (_, n) => a.entry(100 + n)),
      ),
  })
  for (const [query, shown] of [
    ['', 10],
    ['?limit=60', 60],
    ['?limit=10000', 60],
    ['?limit=1000000000', 60],
  ] as const) {
    t.equal((await get(ITEMS + query, A)).json().numberReturned, shown, query)
  }
})

t.test('what is wrong with a parameter is said', async (t) => {
  const { get } = await reading
  const interval = /^must be a time with a time zone \(RFC 3339\) or a day, or two of them with \/ between them/
  for (const [query, name, message] of [
    ['limit=0', 'limit', 'must be an integer from 1 to 1000'],
    ['limit=ten', 'limit', 'must be an integer from 1 to 1000'],
    ['limit=1e9', 'limit', 'must be an integer from 1 to 1000'],
    ['limit=500.5', 'limit', 'must be an integer from 1 to 1000'],
    ['limit=1000.5', 'limit', 'must be an integer from 1 to 1000'],
    ['bbox=1,2', 'bbox', /^has 2 numbers, but must be minLongitude/],
    ...[
      '',
      '..',
      '../..',
      '/',
      '2025-03',
      '2025-02-30',
      '2025-03-01T00:00:00Z/x',
      'x/..',
      '../../2025-03-01T00:00:00Z',
    ].map((value) => [`datetime=${value}`, 'datetime', interval] as const),
    ['f=html', 'f', 'must be one of json'],
    ['perPage=1', 'perPage', 'is not a parameter of this operation'],
    ['name=x', 'name', 'is not a parameter of this operation'],
  ] as const) {
    const { status, code, errors } = (await get(`${ITEMS}?${query}`, A)).json()
    t.match({ status, code, errors }, { status: 400, code: 'invalid_parameter', errors: [{ name, message }] }, query)
  }
  t.match((await get(`${ROOT}?x=1`, A)).json(), { errors: [{ name: 'x' }] })
  t.match((await get(`${ITEMS}?cursor=x`, A)).json(), { code: 'invalid_cursor' })
})

t.test('a map program may accept the types of the standard, or JSON', async (t) => {
  const { get } = await reading
  const openapi = 'application/vnd.oai.openapi+json;version=3.0'
  for (const [url, accept] of [
    [ITEMS, GEOJSON],
    [ITEMS, `${GEOJSON}, application/json`],
    [ITEMS, 'application/json'],
    [ITEMS, 'text/html,application/xml;q=0.9,*/*;q=0.8'],
    [`${ITEMS}/entry1-a`, GEOJSON],
    [`${ROOT}/api`, openapi],
    [`${ROOT}/api`, 'application/vnd.oai.openapi+json'],
    [`${ROOT}/collections/entries/queryables`, 'application/schema+json'],
  ] as const) {
    t.equal((await get(url, A, { headers: { accept } })).statusCode, 200, `${url} ${accept}`)
  }
  const refused = await get(ITEMS, A, { headers: { accept: 'text/html' } })
  t.match(refused.json(), {
    code: 'not_acceptable',
    detail: `Responses are ${GEOJSON}`,
    errors: [{ message: `excludes ${GEOJSON}`, allowed: [GEOJSON] }],
  })
  for (const [accept, statusCode] of [
    [GEOJSON, 406],
    ['application/json;version=1', 200],
    ['text/html, application/json; charset=utf-8;q=0.5', 200],
    ['application/json;q=0, text/html', 406],
  ] as const) {
    t.equal((await get('/v1/entries', A, { headers: { accept } })).statusCode, statusCode, `a list is JSON: ${accept}`)
  }
})

t.test('links begin with the public URL', async (t) => {
  const { get } = await testApp(t, { settings: { PUBLIC_URL: 'https://api.example.org/field' }, fill: fillTenants })
  const page: FeatureCollection = (await get(`${ITEMS}?limit=1`, A)).json()
  for (const { href } of page.links) t.match(href, /^https:\/\/api\.example\.org\/field\/v1\/ogc\/collections\/entries/)
  t.match((await get(`${ROOT}/api`, A)).json().servers, [{ url: 'https://api.example.org/field/v1/ogc' }])
})

t.test('a record that does not fit fails its page', async (t) => {
  const wrong = { ...a.entry(0), duration: 'long' } as never
  const { get } = await testApp(t, { fill: (store) => store.insert('entries', [a.entry(1), wrong]) })
  for (const url of [ITEMS, `${ITEMS}/entry0-a`]) {
    t.match((await get(url, A)).json(), { code: 'internal_error', errors: [{ name: 'entries/entry0-a' }] }, url)
  }
})
