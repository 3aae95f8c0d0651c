// The OpenAPI 3.0 document of OGC API - Features.
import t from 'tap'
import { testApp } from '../support/app.js'
import { A } from '../support/tenants.js'

const { get } = await testApp(t)
const body = (await get('/v1/ogc/api', A)).body
const document = JSON.parse(body)

t.test('it has the operations of the collections alone, by paths that follow the address of its server', async (t) => {
  t.match(document, { openapi: /^3\.0\.\d$/, tags: [{ name: 'OGC API' }] })
  t.match(document.servers[0].url, /^http:\/\/[^/]+\/v1\/ogc$/)
  t.same(Object.keys(document.paths).sort(), [
    '/',
    '/api',
    '/collections',
    '/collections/entries',
    '/collections/entries/items',
    '/collections/entries/items/{id}',
    '/collections/entries/queryables',
    '/collections/entries/schema',
    '/collections/entries/schema/geojson',
    '/conformance',
  ])
})

t.test('it refers to nothing outside of itself, and has no part that nothing refers to', async (t) => {
  const references = new Set([...body.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => String(reference)))
  t.ok(references.size > 10)
  for (const reference of references) {
    const [root, ...names] = reference.split('/')
    t.equal(root, '#', reference)
    t.ok(
      names.reduce((part, name) => part?.[name], document),
      reference,
    )
  }
  for (const [kind, parts] of Object.entries<object>(document.components)) {
    if (kind === 'securitySchemes') continue
    for (const name of Object.keys(parts)) t.ok(references.has(`#/components/${kind}/${name}`), `${kind}/${name}`)
  }
})

t.test('nothing in it is of OpenAPI 3.1 alone', async (t) => {
  t.notMatch(body, /"const":|"type":"null"|"examples"|"type":\[|"unevaluatedProperties"/)
  const { properties } = document.components.schemas.EntryFeature
  t.match(properties.type, { type: 'string', enum: ['Feature'] })
  t.match(properties.geometry, { nullable: true, allOf: [{ $ref: '#/components/schemas/OgcPoint' }] })
})

t.test('the parameters of items are as the standard describes them', async (t) => {
  const { parameters } = document.paths['/collections/entries/items'].get
  const found = parameters.map(({ $ref, ...parameter }: { $ref?: string }) =>
    $ref === undefined ? parameter : document.components.parameters[$ref.split('/').at(-1) as string],
  )
  const named = (name: string) => found.find((parameter: { name: string }) => parameter.name === name)
  const form = { in: 'query', required: false, style: 'form', explode: false }
  t.match(named('bbox'), {
    ...form,
    schema: { type: 'array', minItems: 4, maxItems: 6, items: { type: 'number' } },
  })
  t.match(named('datetime'), { ...form, schema: { type: 'string' } })
  t.same(named('limit'), document.components.parameters.limit, 'where QGIS finds the largest page')
  t.match(named('limit'), { ...form, schema: { type: 'integer', minimum: 1, maximum: 1000, default: 10 } })
})
