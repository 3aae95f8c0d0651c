// The OpenAPI document is complete, and its examples are valid against their schemas.
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { parse } from 'yaml'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { testStore } from '../support/store.js'
import { A, fillTenants } from '../support/tenants.js'

interface Media {
  schema: object
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security?: unknown[]
  parameters?: {
    name: string
    in: string
    description: string
    required: boolean
    schema: Record<string, unknown>
    explode?: boolean
  }[]
  responses: Record<string, { description: string; headers: Record<string, object>; content: Record<string, Media> }>
}
interface OpenApi {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; securitySchemes: object }
  security: unknown[]
  tags: { name: string; description: string }[]
}

const operationsOf = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

t.test('every operation is described, with each parameter and response', async (t) => {
  const { app } = await testApp(t)
  const document = (await app.inject('/openapi.json')).json<OpenApi>()
  t.equal(document.openapi, '3.1.0')
  t.match(document.components.securitySchemes, { apiKey: { type: 'http', scheme: 'bearer' } })
  t.same(document.security, [{ apiKey: [] }])

  const operations = operationsOf(document)
  t.same(operations.map(({ path, method, operation }) => `${method} ${path} ${operation.operationId}`).sort(), [
    'get /health/live getLive',
    'get /health/ready getReady',
    'get /v1/agents listAgents',
    'get /v1/agents/{id} getAgent',
    'get /v1/dispatches listDispatches',
    'get /v1/dispatches/{id} getDispatch',
    'get /v1/entries listEntries',
    'get /v1/entries/{id} getEntry',
    'get /v1/forms listForms',
    'get /v1/forms/{id} getForm',
    'get /v1/me getMe',
    'get /v1/projects listProjects',
    'get /v1/projects/{id} getProject',
    'get /v1/sync/agents syncAgents',
    'get /v1/sync/agents/digest digestAgents',
    'get /v1/sync/dispatches syncDispatches',
    'get /v1/sync/dispatches/digest digestDispatches',
    'get /v1/sync/entries syncEntries',
    'get /v1/sync/entries/digest digestEntries',
    'get /v1/sync/forms syncForms',
    'get /v1/sync/forms/digest digestForms',
    'get /v1/sync/projects syncProjects',
    'get /v1/sync/projects/digest digestProjects',
    'get /v1/sync/users syncUsers',
    'get /v1/sync/users/digest digestUsers',
    'get /v1/users listUsers',
    'get /v1/users/{id} getUser',
  ])
  const tags = new Set(document.tags.map(({ name, description }) => description && name))
  for (const { path, operation } of operations) {
    t.ok(operation.summary, path)
    t.match(operation.description, /^[A-Z].*\.$/s, `${path} is described`)
    for (const tag of operation.tags) t.ok(tags.has(tag), `${path}: the tag ${tag} is described`)
    if (!path.startsWith('/v1/')) {
      t.same(operation.security, [])
      continue
    }
    const statuses = [
      '200',
      ...(/\/sync\/|\/me$/.test(path) ? [] : ['304']),
      '400',
      '401',
      '406',
      '414',
      '431',
      '500',
      '503',
      '505',
      ...(path.includes('{id}') ? ['404'] : []),
      ...(/sync\/\w+$/.test(path) ? ['410'] : []),
    ]
    t.same(Object.keys(operation.responses).sort(), statuses.sort(), path)
    for (const { name, description, schema, required, in: place } of operation.parameters ?? []) {
      t.ok(description, `${path} ${name} has a description`)
      t.equal(required, place === 'path', `${path} ${name}`)
      t.ok(schema.type, `${path} ${name}`)
    }
  }
})

t.test('parameters show their defaults, values and bounds', async (t) => {
  const { app } = await testApp(t, { settings: { MAX_PER_PAGE: '200', PROJECT_DEFAULTS: 'literal' } })
  const { paths } = (await app.inject('/openapi.json')).json<OpenApi>()
  const schemas = (path: string) =>
    Object.fromEntries(paths[path]?.get?.parameters?.map(({ name, schema }) => [name, schema]) ?? [])
  t.match(schemas('/v1/dispatches'), {
    page: { type: 'integer', minimum: 1 },
    perPage: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    sortBy: { enum: ['id', 'createdAt', 'name', 'dispatchType', 'updatedAt'], default: 'id' },
    sortOrder: { enum: ['asc', 'desc'], default: 'asc' },
    dispatchType: { enum: ['basic', 'prefilled', 'hybrid', 'survey'] },
    status: { enum: ['draft', 'supended', 'dispatch', 'completed', 'suspended', 'dispatched'] },
    name: { type: 'string', minLength: 1 },
    form: { type: 'string' },
    project: { type: 'string' },
    agent: { type: 'string' },
    ids: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 100 },
    updatedSince: { type: 'string', format: 'date-time' },
    fields: { type: 'array', items: { enum: Object.keys(DispatchListItem.properties) } },
  })
  t.match(schemas('/v1/entries').expand, { items: { enum: ['dispatch', 'form', 'project', 'agent'] } })
  for (const { name, explode } of paths['/v1/entries']?.get?.parameters ?? []) {
    t.equal(explode, false, `${name}: several values are separated by commas`)
  }
  t.match(schemas('/v1/projects'), { perPage: { default: 1 } })
})

t.test(
  'a parameter that must be left out beside `cursor` shows its default in words, so that nothing sends it',
  async (t) => {
    const { app, get } = await testApp(t, { settings: { PROJECT_DEFAULTS: 'literal' }, fill: fillTenants })
    const { paths } = (await app.inject('/openapi.json')).json<OpenApi>()
    for (const [path, page] of [
      ['/v1/entries', 1],
      ['/v1/projects', 50],
    ] as const) {
      const { parameters = [], responses } = (paths[path] as Record<string, Operation>).get as Operation
      const named = (name: string) => parameters.find((parameter) => parameter.name === name)
      for (const name of ['page', 'after']) {
        for (const keyword of ['default', 'example', 'examples']) {
          t.notOk(
            keyword in (named(name)?.schema ?? {}) || keyword in (named(name) ?? {}),
            `${path} ${name} ${keyword}`,
          )
        }
      }
      t.match(named('page')?.description, `by default ${page}.`)
      t.match((await get(path, A)).json()._metadata.pageLinks.current, `page=${page}&`, 'the default holds')
      t.match(named('cursor')?.description, 'leave out `page` and `after`')
      t.match(named('fields')?.description, 'even those that the response requires otherwise')
      t.match(responses[200]?.description, 'With `fields`, records lack all other fields')
    }
  },
)

t.test('every response has an example that is valid against its schema', async (t) => {
  const { app } = await testApp(t)
  const document = (await app.inject('/openapi.json')).json<OpenApi>()
  const ajv = new Ajv2020({ strict: true, strictTypes: false, keywords: ['components', 'paths'], allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'api', components: document.components })
  for (const { path, operation } of operationsOf(document)) {
    for (const [status, { description, content }] of Object.entries(operation.responses)) {
      t.ok(description, `${path} ${status}`)
      t.equal(content === undefined, status === '304', 'only 304 has no content')
      for (const [type, { schema, example, examples }] of Object.entries(content ?? {})) {
        t.equal(type, status === '200' ? 'application/json' : 'application/problem+json')
        const here = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'))
        const values = example === undefined ? Object.values(examples ?? {}).map(({ value }) => value) : [example]
        t.ok(values.length > 0, `${path} ${status} has an example`)
        for (const [, link] of JSON.stringify(example ?? '').matchAll(/example\.org(\/v1\/[^?"]*)/g))
          t.equal(link, path)
        for (const value of values) {
          const valid = ajv.validate(here, value)
          t.ok(valid, `${path} ${status}: ${ajv.errorsText()}`)
        }
      }
    }
  }
})

t.test('a response has exactly those headers, of the ones that matter, that the document names', async (t) => {
  let isDown = false
  const store = testStore(t)
  const { app, get } = await testApp(t, {
    store: {
      ...store,
      ping: () => (isDown ? Promise.reject(new StoreUnavailable(new Error('down'))) : store.ping()),
      aggregate: (query) => (isDown ? Promise.reject(new StoreUnavailable(new Error('down'))) : store.aggregate(query)),
    },
    fill: fillTenants,
  })
  const document = (await app.inject('/openapi.json')).json<OpenApi>()
  const known = ['ETag', 'Link', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id']
  const compare = (path: string, response: Awaited<ReturnType<typeof get>>, status: number) => {
    t.equal(response.statusCode, status, path)
    const named = Object.keys(document.paths[path]?.get?.responses[status]?.headers ?? {})
    t.same(
      named.sort(),
      known.filter((name) => name.toLowerCase() in response.headers),
      `${path} ${status}`,
    )
  }

  const first = await get('/v1/entries?perPage=1', A)
  compare('/v1/entries', first, 200)
  const headers = { 'if-none-match': first.headers.etag as string }
  compare('/v1/entries', await get('/v1/entries?perPage=1', A, { headers }), 304)
  compare('/v1/entries', await get('/v1/entries?x=1', A), 400)
  compare('/v1/entries', await get('/v1/entries'), 401)
  compare('/v1/entries/{id}', await get('/v1/entries/none', A), 404)
  compare('/health/ready', await get('/health/ready'), 200)
  isDown = true
  compare('/v1/entries', await get('/v1/entries', A), 503)
  compare('/health/ready', await get('/health/ready'), 503)
})

t.test('the server in the document has the path of the public URL', async (t) => {
  for (const [settings, url] of [
    [{}, '/'],
    [{ PUBLIC_URL: 'https://api.example.org/' }, '/'],
    [{ PUBLIC_URL: 'https://api.example.org/field' }, '/field'],
  ] as const) {
    const { app } = await testApp(t, { settings })
    t.match((await app.inject('/openapi.json')).json<OpenApi>().servers, [{ url }])
  }
})

t.test('the document is served as JSON and as YAML, compressed if the caller allows it', async (t) => {
  const { app } = await testApp(t)
  for (const [url, type] of [
    ['/openapi.json', 'application/json; charset=utf-8'],
    ['/openapi.yaml', 'application/yaml; charset=utf-8'],
  ] as const) {
    const { headers, body } = await app.inject(url)
    t.match(headers, { 'content-type': type, 'x-content-type-options': 'nosniff' }, url)
    t.same(parse(body), parse(JSON.stringify(app.swagger())), url)
    const compressed = await app.inject({ url, headers: { 'accept-encoding': 'br' } })
    t.equal(compressed.headers['content-encoding'], 'br')
  }
})
