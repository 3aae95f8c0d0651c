// Rules for all schemas: every property is described, and none shows what is internal.
import { type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import { namedSchemas } from '../../schemas/index.js'
import {
  annotationOf,
  defaulted,
  excluding,
  filter,
  flat,
  hideable,
  isHidden,
  joined,
  literals,
  personal,
  refTo,
  select,
  several,
  strict,
  word,
} from '../../schemas/kit.js'
import { viewOf } from '../../schemas/views.js'
import { eachResource } from '../support/resources.js'

const queries: Record<string, TSchema> = Object.fromEntries(eachResource.map(([name, { query }]) => [name, query]))

/** All properties of a schema, with their paths. */
const properties = (schema: TSchema, path: string): [string, TSchema][] => [
  ...Object.entries<TSchema>(schema.properties ?? {}).flatMap(([name, property]): [string, TSchema][] => [
    [`${path}.${name}`, property],
    ...properties(property, `${path}.${name}`),
  ]),
  ...(schema.items ? properties(schema.items, `${path}[]`) : []),
]

t.test('Every property has a description, or refers to a schema that has one', async (t) => {
  const all = [...namedSchemas, ...Object.entries(queries)].flatMap(([name, schema]) => properties(schema, name))
  t.ok(all.length > 100)
  const isDescribed = ({ description, $ref }: TSchema) => description ?? namedSchemas.get($ref)?.description
  t.same(
    all.filter(([, schema]) => !isDescribed(schema)).map(([path]) => path),
    [],
  )
})

t.test('Every query allows only its own parameters, and all are optional', async (t) => {
  for (const [name, schema] of Object.entries(queries)) {
    t.equal(schema.additionalProperties, false, name)
    t.equal(schema.required, undefined, name)
  }
})

t.test('No response but that of /v1/me shows the organisation, and none shows an internal name', async (t) => {
  const paths = [...namedSchemas].flatMap(([name, schema]) =>
    name === 'Me' ? [] : properties(schema, name).map(([path]) => path),
  )
  t.same(
    paths.filter((path) => /organisation|\._id|hash/.test(path)),
    [],
  )
})

t.test('Who somebody is and where something is are marked as such, wherever a response shows them', async (t) => {
  const kinds = {
    firstName: 'personal',
    lastName: 'personal',
    email: 'personal',
    phone: 'personal',
    location: 'places',
  }
  const found = new Set<string>()
  const wrong: string[] = []
  for (const [name, schema] of namedSchemas) {
    for (const [path, property] of properties(schema, name)) {
      const last = path.split('.').at(-1) as keyof typeof kinds
      if (!(last in kinds)) continue
      found.add(last)
      if (hideable.some((kind) => isHidden(property, [kind]) !== (kind === kinds[last]))) wrong.push(path)
    }
  }
  t.same([...found].sort(), Object.keys(kinds).sort())
  // A new field of somebody is either marked, or stands here.
  const others = ['id', 'role', 'status', 'createdAt', 'updatedAt', 'lastLogin']
  for (const name of ['Agent', 'User']) {
    const shown = Object.entries<TSchema>(namedSchemas.get(name)?.properties).filter(
      ([, each]) => !isHidden(each, hideable),
    )
    for (const [field] of shown) if (!others.includes(field)) wrong.push(`${name}.${field}`)
  }
  const seen = viewOf(['places', 'personal'])
  t.equal(seen, viewOf(['personal', 'places']), 'all keys without the same share a view')
  for (const [name, schema] of [...seen.named(), ...seen.named('list')]) {
    for (const [path, property] of properties(schema, name)) if (isHidden(property, hideable)) wrong.push(path)
  }
  t.same(wrong, [])
  const inner = Type.Object({ a: Type.String(), b: personal(Type.String()) })
  const left = { properties: { a: { type: 'string' } }, required: ['a'] }
  t.strictSame(JSON.parse(JSON.stringify(seen.shown(Type.Array(Type.Union([inner, Type.Null()]))))), {
    type: 'array',
    items: { anyOf: [{ type: 'object', ...left }, { type: 'null' }] },
  })
})

t.test('The schema helpers keep validation and documentation in step', async (t) => {
  t.match(strict({ a: Type.String() }, { description: 'd' }), { additionalProperties: false, description: 'd' })
  const schema = strict({ a: defaulted(Type.Integer(), 3), b: filter(Type.String({ examples: ['x'] })) })
  t.equal(schema.required, undefined, 'both are optional')
  t.match(schema.properties, { a: { type: 'integer', default: 3 }, b: { type: 'string' } })
  t.notOk('examples' in schema.properties.b)
  t.match(several(Type.String({ examples: ['x'] }), { description: 'd' }), {
    type: 'array',
    items: { type: 'string' },
    description: 'd',
  })
  const some = select(Type.Object({ a: Type.String(), b: Type.Optional(Type.String()), c: Type.String() }), ['c', 'b'])
  t.same(Object.keys(some.properties), ['b', 'c'])
  t.same(some.required, ['c'])
  t.match(literals(['x', 'y'], { description: 'd' }), { type: 'string', enum: ['x', 'y'], examples: ['x'] })
  const open = word(['x', 'y'], { title: 'W', description: 'd.' })
  t.match(open, {
    type: 'string',
    title: 'W',
    description: 'd. Known words: `x`, `y`. Expect others.',
    examples: ['x', 'y'],
  })
  t.notOk('enum' in open, 'a response may have a word that is not known yet')
  const named = Type.Object({}, { $id: 'Named' })
  t.same(JSON.parse(JSON.stringify(refTo(named))), { $ref: 'Named' })
  t.match(refTo(named, 'why'), { $ref: 'Named', description: 'why' })
  t.same(JSON.stringify(joined(refTo(named))), '{"$ref":"Named"}', 'a mark does not show')
  const whole = Type.Object({
    a: Type.Number(),
    b: Type.Optional(Type.String()),
    d: joined(Type.Array(refTo(named))),
    e: Type.Optional(Type.Union([Type.String({ description: 'Id.' }), joined(refTo(named))])),
    f: Type.Optional(Type.Union([Type.Null(), Type.String()])),
  })
  const { properties, required } = Type.Object(flat(whole))
  t.same(required, ['a'])
  t.strictSame(JSON.parse(JSON.stringify(properties)), {
    a: { type: 'number' },
    b: { type: 'string' },
    e: { type: 'string', description: 'Id.' },
    f: { anyOf: [{ type: 'null' }, { type: 'string' }] },
  })
  const cursor = excluding(['page'], filter(Type.String()))
  t.same(annotationOf(strict({ cursor }).properties.cursor).excludes, ['page'])
  t.same(JSON.stringify(cursor), '{"type":"string"}')
})
