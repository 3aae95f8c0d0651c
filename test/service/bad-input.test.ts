// Bad input: a 400 names each invalid parameter, what is wrong and what is allowed. No parameter is ignored.
import t from 'tap'
import { Project } from '../../schemas/projects.js'
import { testApp } from '../support/app.js'
import { inEach } from '../support/each.js'
import { resources } from '../support/resources.js'
import { A, fillTenants } from '../support/tenants.js'

const PAGE = 'must be an integer from 1 to 2147483647'
const ONCE = 'must be given only once'
const UNKNOWN = 'is not a parameter of this operation'
const TIME =
  'must be a time with a time zone (RFC 3339), such as 2025-03-14T09:26:53.589Z or 2025-03-14T10:26:53+01:00; in a URL, + is written as %2B'
const BOX =
  'but must be minLongitude,minLatitude,maxLongitude,maxLatitude in degrees (WGS 84), such as 2.6,4.2,14.7,13.9; across the antimeridian the first longitude is the greater one'
const STATUS =
  'must be one status without comma and semicolon: each status needs a request of its own, and & separates parameters'
const IDS = 'must have at most 100 values, separated by commas'

interface Fault {
  name: string
  message: string
  allowed?: readonly string[]
}

/** The fault of a parameter that takes some words. */
const oneOf = (name: string, ...allowed: string[]): Fault => ({
  ...{ name, message: `must be one of ${allowed.join(', ')}`, allowed },
})
/** The fault of a parameter that takes some words in a list. */
const someOf = (name: string, shown: string, allowed: readonly string[]): Fault => ({
  ...{ name, message: `has ${shown}, but must be one or more of ${allowed.join(', ')}, separated by commas`, allowed },
})
const unknown = (name: string, allowed = Object.keys(resources.projects.query.properties)): Fault => ({
  ...{ name, message: UNKNOWN, allowed },
})

/** Paths with the values of a parameter that are refused for the same reason. */
const refused: readonly (readonly [path: string, fault: Fault, ...values: string[]])[] = [
  ['/v1/entries', { name: 'page', message: PAGE }, '0', '-1', '99999999999999999999'],
  [
    '/v1/projects',
    { name: 'perPage', message: 'must be an integer from 1 to 1000' },
    ...['', 'ten', '1.5', '1e2', '0x10', '%201', '1%20', '+1', 'NaN', 'true', '1001'],
  ],
  ['/v1/entries', { name: 'page', message: ONCE }, '1&page=2'],
  ['/v1/dispatches', { name: 'status', message: ONCE }, 'draft&status=draft'],
  ['/v1/entries', { name: 'bbox', message: `has 8 numbers, ${BOX}` }, '1,2,3,4&bbox=1,2,3,4'],
  ['/v1/dispatches', { name: 'name', message: 'must not be empty' }, ''],
  ['/v1/entries', { name: 'status', message: STATUS }, 'pending,accepted', 'pending;perPage=1'],
  ['/v1/users', { name: 'status', message: STATUS }, ','],
  ['/v1/entries', { name: 'cursor', message: 'must not be empty' }, ''],
  ['/v1/entries', { name: 'after', message: 'must not be empty' }, ''],
  ['/v1/dispatches', oneOf('sortOrder', 'asc', 'desc'), 'up'],
  ['/v1/projects', oneOf('sortBy', 'id', 'createdAt', 'name', 'updatedAt'), 'duration'],
  ['/v1/dispatches', oneOf('dispatchType', 'basic', 'prefilled', 'hybrid', 'survey'), 'Survey'],
  ['/v1/dispatches', oneOf('embed', 'true', 'false'), 'no', '', '0'],
  ['/v1/entries', oneOf('total', 'true', 'false'), 'yes'],
  ...['/v1/entries', '/v1/entries/x', '/v1/sync/entries'].map((path) => [path, oneOf('answers', 'list'), 'x'] as const),
  ...['/v1/users', '/v1/sync/users'].map((path) => [path, oneOf('unreadable', 'skip'), 'show'] as const),
  ['/v1/projects', unknown('Name'), 'x'],
  ...['expand', 'page', 'unreadable'].map((name) => ['/v1/entries/x', unknown(name, ['answers']), '1'] as const),
  ['/v1/forms/x', unknown('answers', []), 'list'],
  ...['updatedSince', 'updatedBefore', 'createdSince', 'createdBefore'].map(
    (name) =>
      [
        '/v1/users',
        { name, message: TIME },
        ...['', '2025-01-02', '2025-01-02T00:00:00', '2025-02-30T00:00:00Z', '2016-12-31T23:59:60Z'],
        ...['1735776000000', '{"$gt":0}'],
        '2025-01-02T00:00:00+01:00', // without encoding, + means a space
      ] as const,
  ),
  ['/v1/entries', { name: 'bbox', message: `has 2 numbers, ${BOX}` }, '2.6,4.2'],
  ['/v1/entries', { name: 'bbox', message: `has a value that is not a number, ${BOX}` }, '4.2,2.6,13.9,north'],
  ['/v1/entries', { name: 'bbox', message: `has a latitude beyond 90 degrees, ${BOX}` }, '4.2,102.6,13.9,114.7'],
  [
    '/v1/forms',
    { name: 'ids', message: 'must be values separated by commas, none of them empty' },
    ...['', ',', 'a,', 'a,,b', '%20', 'a,%09,b'],
  ],
  ['/v1/forms', { name: 'ids', message: IDS }, `${'a,'.repeat(100)}a`, `a${'&ids=a'.repeat(100)}`],
  ...[
    ['', 'an empty value'],
    ['name,organisation', '"organisation"'],
    ['_id', '"_id"'],
    ['ID', '"ID"'],
    ['id,', 'an empty value'],
    ['name.first', '"name.first"'],
  ].map(
    ([value, shown]) =>
      ['/v1/projects', someOf('fields', `${shown}`, Object.keys(Project.properties)), `${value}`] as const,
  ),
  [
    '/v1/entries',
    someOf('expand', '"location"', ['dispatch', 'form', 'project', 'agent']),
    ...['form,location', 'location,form'],
  ],
]

/** What is refused for several reasons, or for what does not go together. */
const together: readonly (readonly [string, readonly Fault[]])[] = [
  ['/v1/entries?embed=false&expand=form', [{ name: 'expand', message: 'must not be given with embed' }]],
  ['/v1/projects?__proto__=x&constructor=y', [unknown('__proto__'), unknown('constructor')]],
  ['/v1/entries?page=x&sortOrder=y', [oneOf('sortOrder', 'asc', 'desc'), { name: 'page', message: PAGE }]],
  ['/v1/entries?cursor=*&page=1', [{ name: 'page', message: 'must not be given with cursor' }]],
  ['/v1/projects?after=x&cursor=*', [{ name: 'after', message: 'must not be given with cursor' }]],
  [
    '/v1/dispatches?page=0&cursor=*&after=x',
    [
      { name: 'page', message: PAGE },
      { name: 'page', message: 'must not be given with cursor' },
      { name: 'after', message: 'must not be given with cursor' },
    ],
  ],
]

/** The application of the tests that only read. */
const reading = testApp(t)

t.test(
  'invalid parameters are named with what is allowed',
  inEach(async (each) => {
    const { get } = await reading
    const cases = refused.flatMap(([path, fault, ...values]) =>
      values.map((value) => [`${path}?${fault.name}=${value}`, [fault]] as const),
    )
    for (const [url, errors] of [...cases, ...together]) {
      const response = await get(url, A)
      const { success, status, code, title, detail, errors: found } = response.json()
      each.equal(
        [response.statusCode, String(response.headers['content-type']).split(';')[0], success, status, code, title],
        [400, 'application/problem+json', false, 400, 'invalid_parameter', 'Bad Request'],
        url,
      )
      each.equal(
        found,
        errors.map((error) => ({ in: 'query', ...error })),
        url,
      )
      for (const { name, message } of errors) each.ok(detail.includes(`${name} ${message}`), url)
    }
  }),
)

t.test('the largest page size is a setting', async (t) => {
  const { get } = await testApp(t, { settings: { MAX_PER_PAGE: '60' } })
  t.equal((await get('/v1/entries?perPage=60', A)).statusCode, 200)
  t.match((await get('/v1/entries?perPage=61', A)).json().errors, [{ message: 'must be an integer from 1 to 60' }])
})

t.test('an id of any form is at worst unknown', async (t) => {
  const { get } = await reading
  for (const id of ['x', '%00', '%F0%9F%98%80', '..%2F..', '$ne', '[object%20Object]', 'a'.repeat(7900)]) {
    const response = await get(`/v1/entries/${id}`, A)
    t.match(response.json(), { status: 404, code: 'not_found', detail: 'No entry has this id' }, id.slice(0, 20))
  }
})

t.test('filters take only text, so an operator of the database is text too', async (t) => {
  const { get } = await reading
  t.match((await get('/v1/entries?status[$ne]=x', A)).json(), { code: 'invalid_parameter' })
  t.same((await get('/v1/entries?status=%7B%22$ne%22:1%7D', A)).json().data, [])
})

t.test('of very many errors ten are listed, with the number of the others', async (t) => {
  const { get } = await reading
  const names = Array.from({ length: 1500 }, (_, n) => `x${n}`)
  const response = await get(`/v1/entries?${names.join('&')}`, A)
  t.equal(response.statusCode, 400)
  t.same(
    response.json().errors.map(({ name }: { name: string }) => name),
    names.slice(0, 10),
  )
  t.match(response.json().detail, /x9 is not a parameter of this operation; and 1490 more$/)
  t.ok(response.body.length < 8000, `${response.body.length} bytes`)
})

t.test('a token that is garbled, or of another list or order, is refused', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  const walk = (await get('/v1/entries?cursor=*&perPage=1&status=accepted', A)).json()._metadata
  const cursor: string = walk.nextCursor
  const after = new URL((await get('/v1/entries?perPage=1', A)).json()._metadata.pageLinks.next).searchParams.get(
    'after',
  )
  t.equal((await get(`/v1/entries?status=accepted&cursor=${cursor}&perPage=7&total=true`, A)).statusCode, 200)
  t.equal((await get(`/v1/entries?sortOrder=asc&sortBy=id&page=9&after=${after}`, A)).statusCode, 200)
  for (const [url, name] of [
    [`/v1/entries?status=accepted&cursor=${cursor}A`, 'cursor'],
    [`/v1/entries?status=accepted&sortBy=createdAt&cursor=${cursor}`, 'cursor'],
    [`/v1/entries?status=rejected&cursor=${cursor}`, 'cursor'],
    [`/v1/projects?after=${after}`, 'after'],
  ] as const) {
    const response = await get(url, A)
    t.match(response.json(), { status: 400, code: 'invalid_cursor', errors: [{ in: 'query', name }] }, url)
    const remedy = { cursor: /; begin again with cursor=\*$/, after: /; begin again without it and follow the links$/ }
    t.match(response.json().detail, remedy[name], url)
    t.equal(response.headers.etag, undefined)
  }
})
