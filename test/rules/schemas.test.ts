// Rules that hold for all schemas: what every property says of itself, and what none may hold.
import { type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import { DispatchListQuery } from '../../schemas/dispatches.js'
import { EntryListQuery } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { defaulted, exampleOf, filter, literals, refTo, strict } from '../../schemas/kit.js'
import { ProjectListQuery } from '../../schemas/projects.js'

const limits = { page: 1, perPage: 50, maxPerPage: 1000 }
const queries: Record<string, TSchema> = {
  DispatchListQuery: DispatchListQuery(limits),
  ProjectListQuery: ProjectListQuery(limits),
  EntryListQuery: EntryListQuery(limits),
}

/** Every property of a schema, with its path. */
const properties = (schema: TSchema, path: string): [string, TSchema][] => [
  ...Object.entries<TSchema>(schema.properties ?? {}).flatMap(([name, property]): [string, TSchema][] => [
    [`${path}.${name}`, property],
    ...properties(property, `${path}.${name}`),
  ]),
  ...(schema.items ? properties(schema.items, `${path}[]`) : []),
]

t.test('every property has a description, or names a schema that has one', async (t) => {
  const all = [...namedSchemas, ...Object.entries(queries)].flatMap(([name, schema]) => properties(schema, name))
  t.ok(all.length > 100)
  for (const [path, schema] of all) {
    t.ok(schema.description ?? namedSchemas.get(schema.$ref)?.description, path)
  }
})

t.test('every query takes its own parameters alone, and none must be given', async (t) => {
  for (const [name, schema] of Object.entries(queries)) {
    t.equal(schema.additionalProperties, false, name)
    t.equal(schema.required, undefined, name)
  }
})

t.test('no answer carries the organisation or a stored name', async (t) => {
  for (const [name, schema] of namedSchemas) {
    for (const [path] of properties(schema, name)) t.notMatch(path, /organisation|\._id|hash/)
  }
})

t.test('every named schema has an example made of its parts', async (t) => {
  for (const [name, schema] of namedSchemas) {
    t.same(Object.keys(exampleOf(schema, namedSchemas) as object), Object.keys(schema.properties), name)
  }
})

t.test('the helpers keep a schema’s meaning', async (t) => {
  t.match(strict({ a: Type.String() }, { description: 'd' }), { additionalProperties: false, description: 'd' })
  const schema = strict({ a: defaulted(Type.Integer(), 3), b: filter(Type.String({ examples: ['x'] })) })
  t.equal(schema.required, undefined, 'neither must be given')
  t.match(schema.properties, { a: { type: 'integer', default: 3 }, b: { type: 'string' } })
  t.notOk('examples' in schema.properties.b)
  t.match(literals(['x', 'y'], { description: 'd' }), { type: 'string', enum: ['x', 'y'], examples: ['x'] })
  const named = Type.Object({}, { $id: 'Named' })
  t.same(JSON.parse(JSON.stringify(refTo(named))), { $ref: 'Named' })
  t.match(refTo(named, 'why'), { $ref: 'Named', description: 'why' })
})
