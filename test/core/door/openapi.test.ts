// The OpenAPI document is complete, and its examples are valid against their schemas.
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { parse } from 'yaml'
import type { RecordCollection } from '../../../src/core/documents/collections.js'
import { withComponents } from '../../../src/core/door/openapi-components.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { StoreUnavailable } from '../../../src/core/store/store.js'
import { loadDemo } from '../../../src/demo.js'
import { testApp } from '../../support/app.js'
import { inEach } from '../../support/each.js'
import { openapiFile, recordExamples } from '../../support/recorded.js'
import { eachResource, resources } from '../../support/resources.js'
import { testStore } from '../../support/store.js'
import { A, fillTenants } from '../../support/tenants.js'
import { isThorough, leftToGate } from '../../support/thorough.js'

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

interface Reference {
  $ref?: string
}

/** The document with each reference to a parameter, header, response or enum replaced by what it names. */
const resolved = (document: OpenApi): OpenApi => {
  const follow = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(follow)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...rest } = value as Reference
    if ($ref === undefined) return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, follow(each)]))
    const target = $ref
      .split('/')
      .slice(1)
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document)
    return $ref.startsWith('#/components/schemas/') && !('enum' in (target as object)) ? value : follow(target)
  }
  return { ...document, paths: follow(document.paths) as OpenApi['paths'] }
}

const documentOf = async (app: FastifyInstance): Promise<OpenApi> =>
  resolved((await app.inject('/openapi.json')).json<OpenApi>())

const operationsOf = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

/** A service with the default settings, and one with others. The tests only read them. */
const { app, get } = await testApp(t, { fill: fillTenants })
const document = await documentOf(app)
const PUBLIC_URL = 'https://api.example.org/field'
const CONTACT_URL = 'https://example.org/keys'
const { app: changed, get: getChanged } = await testApp(t, {
  settings: { MAX_PER_PAGE: '200', PROJECT_DEFAULTS: 'literal', PUBLIC_URL: `${PUBLIC_URL}/`, CONTACT_URL },
  fill: fillTenants,
})

t.test(
  'every operation is described, with each parameter',
  inEach(async (each, t) => {
    t.equal(document.openapi, '3.1.0')
    t.match(document.components.securitySchemes, {
      apiKey: { type: 'http', scheme: 'bearer' },
      basic: { type: 'http', scheme: 'basic' },
    })
    t.same(document.security, [{ apiKey: [] }, { basic: [] }])

    const operations = operationsOf(document)
    t.same([...new Set(operations.map(({ method }) => method))], ['get'])
    const tags = new Set(document.tags.map(({ name, description }) => description && name))
    for (const { path, operation } of operations) {
      each.ok(operation.summary, path)
      each.ok(/^[A-Z].*\.$/s.test(operation.description), `${path} is described`)
      for (const tag of operation.tags) each.ok(tags.has(tag), `${path}: the tag ${tag} is described`)
      if (!path.startsWith('/v1/')) {
        each.equal(operation.security, [], path)
        continue
      }
      for (const { name, description, schema, required, in: place } of operation.parameters ?? []) {
        each.ok(description, `${path} ${name} has a description`)
        each.equal(required, place === 'path', `${path} ${name}`)
        each.ok(schema.type, `${path} ${name}`)
      }
    }
  }),
)

t.test('parameters show the bounds and defaults that are settings, and how lists of values are written', async (t) => {
  const { paths } = await documentOf(changed)
  const schemas = (path: string) =>
    Object.fromEntries(paths[path]?.get?.parameters?.map(({ name, schema }) => [name, schema]) ?? [])
  t.match(schemas('/v1/dispatches'), { perPage: { minimum: 1, maximum: 200, default: 50 } })
  t.match(schemas('/v1/projects'), { perPage: { maximum: 200, default: 1 } })
  for (const { name, explode } of paths['/v1/entries']?.get?.parameters ?? []) {
    const takesList = ['ids', 'fields', 'expand', 'bbox'].includes(name)
    const wanted = name === 'answered' ? true : takesList ? false : undefined
    t.equal(explode, wanted, `${name}: several values are separated by commas, except for answers`)
  }
})

t.test(
  'a parameter that must be left out beside `cursor` shows its default in words, so that nothing sends it',
  async (t) => {
    const { paths } = await documentOf(changed)
    for (const [path, page] of [
      ['/v1/entries', 1],
      ['/v1/projects', 50],
    ] as const) {
      const { parameters = [] } = (paths[path] as Record<string, Operation>).get as Operation
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
      t.match((await getChanged(path, A)).json()._metadata.pageLinks.current, `page=${page}&`, 'the default holds')
      t.match(named('cursor')?.description, 'leave out `page` and `after`')
    }
  },
)

/** Checks values against schemas of a document. The errors are empty if there are none. */
const checkerOf = ({ components }: OpenApi) => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, keywords: ['components', 'paths'], allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'api', components })
  const compiled = new Map<object, ValidateFunction>()
  return (schema: object, value: unknown): string => {
    const validate = compiled.get(schema) ?? ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')))
    compiled.set(schema, validate)
    return validate(value) ? '' : ajv.errorsText(validate.errors)
  }
}

/** Whether a successful response is a file, which has no example. */
const isFile = (path: string): boolean => path.startsWith('/v1/exports/') || path.endsWith('.csv')

/** The media type of a successful response. */
const typeOf = (path: string): string => {
  if (/\/items/.test(path)) return 'application/geo+json'
  if (path === '/v1/ogc/api') return 'application/vnd.oai.openapi+json;version=3.0'
  return /\/(queryables|schema|geojson)$/.test(path) ? 'application/schema+json' : 'application/json'
}

t.test(
  'every response has an example that is valid against its schema',
  { skip: leftToGate },
  inEach(async (each) => {
    const errorsOf = checkerOf(document)
    for (const { path, operation } of operationsOf(document)) {
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        each.ok(description, `${path} ${status}`)
        each.equal(content === undefined, status === '304', `${path} ${status} has content`)
        for (const [type, { schema, example, examples }] of Object.entries(content ?? {})) {
          if (status === '200' && isFile(path)) {
            each.equal(schema, { type: 'string', format: 'binary' }, `${path} is a file`)
            continue
          }
          each.equal(type, status === '200' ? typeOf(path) : 'application/problem+json', `${path} ${status}`)
          const values = example === undefined ? Object.values(examples ?? {}).map(({ value }) => value) : [example]
          each.ok(values.length > 0, `${path} ${status} has an example`)
          for (const value of values) each.equal(errorsOf(schema, value), '', `${path} ${status}`)
        }
      }
    }
  }),
)

t.test(
  'a list is valid against its schema, and lacks only required fields with `fields` and `embed`',
  { skip: leftToGate },
  inEach(async (each) => {
    const errorsOf = checkerOf(document)
    for (const [name, { item }] of eachResource) {
      const schema = document.paths[`/v1/${name}`]?.get?.responses[200]?.content['application/json']?.schema as object
      const all = Object.keys(item.schema.properties)
      const choices = all.flatMap((field) => [[field], all.filter((other) => other !== field)])
      const partial = [...choices.map((fields) => `fields=${fields}`), 'embed=false']
      for (const [query, allowed] of [
        ...['', `fields=${all}`, ...(name === 'entries' ? ['expand=form,agent'] : [])].map(
          (query) => [query, /^$/] as const,
        ),
        ...partial.map((query) => [query, /^(data\/data\/\d+ must have required property '\w+'(, |$))*$/] as const),
      ]) {
        const response = await get(`/v1/${name}?${query}`, A)
        each.equal(response.statusCode, 200, `${name} ${query}`)
        const errors = errorsOf(schema, response.json())
        each.ok(response.json().data.length > 0 && allowed.test(errors), `${name} ${query}: ${errors}`)
      }
    }
  }),
)

t.test('a response has exactly those headers, of the ones that matter, that the document names', async (t) => {
  let isDown = false
  const store = testStore(t)
  const { get } = await testApp(t, {
    store: {
      ...store,
      ping: () => (isDown ? Promise.reject(new StoreUnavailable(new Error('down'))) : store.ping()),
      aggregate: (query) => (isDown ? Promise.reject(new StoreUnavailable(new Error('down'))) : store.aggregate(query)),
    },
    fill: fillTenants,
    settings: { RATE_LIMIT: '1000' },
  })
  const known = ['ETag', 'Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id']
  const compare = (path: string, response: Awaited<ReturnType<typeof get>>, status: number) => {
    t.equal(response.statusCode, status, path)
    const named = Object.keys(document.paths[path]?.get?.responses[status]?.headers ?? {})
    t.same(
      // The key of this test does not end.
      named.filter((name) => name !== 'API-Key-Expires').sort(),
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

t.test(
  'the document is the same as JSON and as YAML, with the address that the caller used or the public URL',
  { skip: leftToGate },
  async (t) => {
    for (const [service, host, url] of [
      [app, 'field.example.org', 'http://field.example.org'],
      [app, '[::1]:3000', 'http://[::1]:3000'],
      [changed, 'localhost', PUBLIC_URL],
    ] as const) {
      const bodyOf = async (path: string, type: string) => {
        const { headers, body } = await service.inject({ url: path, headers: { host } })
        t.match(
          headers,
          { 'content-type': type, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' },
          path,
        )
        t.equal(headers.vary, 'accept-encoding, origin', path)
        return body
      }
      for (const [path, type] of [
        ['/openapi.json', 'application/json; charset=utf-8'],
        ['/openapi.yaml', 'application/yaml; charset=utf-8'],
      ] as const) {
        const body = await bodyOf(path, type)
        const servers = [{ url, description: 'This service' }]
        // To parse YAML takes a second.
        if (path.endsWith('.yaml') && host !== '[::1]:3000' && !isThorough) {
          t.match(body, `\n  - url: ${url}\n    description: This service\n`)
          continue
        }
        const found = path.endsWith('.json') ? JSON.parse(body) : parse(body)
        const wanted = { ...JSON.parse(JSON.stringify(service.swagger())), servers }
        t.ok(isDeepStrictEqual(found, wanted), `${path} of ${url} is the document`)
      }
    }
  },
)

t.test('the document is compressed for each address, however many callers invent', { skip: leftToGate }, async (t) => {
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1]) {
    const headers = { host: `host-${n}`, 'accept-encoding': 'br' }
    const response = await app.inject({ url: '/openapi.yaml', headers })
    t.equal(response.headers['content-encoding'], 'br')
    t.match(brotliDecompressSync(response.rawPayload).toString(), `url: http://host-${n}\n`)
  }
})

const REFRESH = 'run `npm run openapi`'

t.test('openapi.yaml is the document that the service has with its default settings', async (t) => {
  t.equal(readFileSync('openapi.yaml', 'utf8'), await openapiFile(), REFRESH)
})

t.test('the examples are what the service sends with the demo data', { skip: leftToGate }, async (t) => {
  const { responses, problems } = await recordExamples()
  t.same(JSON.parse(readFileSync('pages/openapi-examples.json', 'utf8')), { responses, problems }, REFRESH)
  for (const [code, body] of Object.entries(problems)) t.equal((body as { code: string }).code, code)
  const operations = operationsOf(document).filter(({ path }) => !isFile(path))
  t.same(Object.keys(responses).sort(), operations.map(({ operation }) => operation.operationId).sort())
})

t.test('the example of each id is that of a record of the demo data', async (t) => {
  const store = embeddedStore()
  const [first] = await loadDemo(store)
  for (const [name, { record, item }] of Object.entries(resources)) {
    for (const { schema } of [record, item]) {
      const found = await store.dangerouslyFind(name as RecordCollection, `${schema.properties.id?.examples}`)
      t.equal(found?.organisation, first?.organisation._id ?? 'a key', name)
    }
    const id = document.paths[`/v1/${name}/{id}`]?.get?.parameters?.find(({ name }) => name === 'id')
    t.match(id, { example: record.schema.properties.id?.examples[0] }, `${name} in a path`)
  }
})

/** Objects and enums without a name, by their paths. Generators invent a name for such a schema, which may change. */
const unnamed = (value: unknown, path: string): string[] => {
  if (typeof value !== 'object' || value === null) return []
  const { type, properties, enum: words } = value as Record<string, unknown>
  const isComponent = /^\/components\/schemas\/\w+$/.test(path)
  return [
    ...((type === 'object' && properties !== undefined) || words !== undefined ? (isComponent ? [] : [path]) : []),
    ...Object.entries(value).flatMap(([name, each]) =>
      /^examples?$/.test(name) ? [] : unnamed(each, `${path}/${name}`),
    ),
  ]
}

t.test(
  'objects, enums, errors and what several operations share have names',
  inEach(async (each, t) => {
    const document = (await app.inject('/openapi.json')).json<OpenApi>()
    t.same(unnamed(document, ''), [])
    for (const { path, operation } of operationsOf(document)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        each.equal('$ref' in response, Number(status) >= 400, `${path} ${status}`)
        for (const header of Object.values(response.headers ?? {})) each.ok('$ref' in header, `${path} ${status}`)
      }
    }
    const lists = operationsOf(document).filter(({ operation }) => operation.operationId.startsWith('list'))
    for (const { path, operation } of lists) {
      const shared = (operation.parameters as unknown as Reference[]).map(({ $ref }) => $ref)
      each.ok(shared.includes('#/components/parameters/PerPage'), path)
      each.ok(shared.includes('#/components/parameters/IfNoneMatch'), path)
    }
  }),
)

t.test('two parts that differ cannot have one name', async (t) => {
  const schemas = { A: { title: 'Same', type: 'object' }, B: { title: 'Same', type: 'string' } }
  t.throws(() => withComponents({ paths: {}, components: { schemas } }, []), { message: /schemas\/Same/ })
  t.same(
    withComponents({ paths: {}, components: { schemas: { A: { properties: { title: { type: 'string' } } } } } }, []),
    {
      paths: {},
      components: { schemas: { A: { properties: { title: { type: 'string' } } } } },
    },
    'a property may be called title',
  )
})

t.test(
  'the words of a request are closed, those of a response are open',
  inEach(async (each, t) => {
    const { components } = document
    t.match(components.schemas.DispatchStatusFilter, { enum: ['draft', 'supended', 'dispatch', 'completed'] })
    const shown = (schema: unknown): string[] =>
      [...JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => String(name))
    const inResponses = new Set(Object.keys(components.schemas).filter((name) => /(Page|Response|Problem)$/.test(name)))
    for (const name of inResponses) {
      const schema = components.schemas[name]
      each.ok(!JSON.stringify(schema).includes('"enum"'), name)
      for (const inner of shown(schema)) inResponses.add(inner)
    }
    t.ok(inResponses.has('DispatchStatus'))
  }),
)

t.test('every schema is used', async (t) => {
  const text = (await app.inject('/openapi.json')).body
  const unused = Object.keys(JSON.parse(text).components.schemas).filter((name) => !text.includes(`/schemas/${name}"`))
  t.same(unused, [])
})

t.test('the contact of the document is a setting', async (t) => {
  t.match((await changed.inject('/openapi.json')).json(), { info: { contact: { url: CONTACT_URL } } })
})
