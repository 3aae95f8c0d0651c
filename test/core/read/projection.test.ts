// What a request sees of records: schema, what is read, and the writer agree, whatever the resource, the key and the choice.
import type { TSchema } from '@sinclair/typebox'
import { BSON } from 'mongodb'
import t from 'tap'
import { expandable } from '../../../schemas/entries.js'
import { hideable, isHidden, isJoined, JOINED_SUFFIX } from '../../../schemas/kit.js'
import type { Without } from '../../../schemas/views.js'
import { resources } from '../../../src/core/pipelines/index.js'
import { type Choice, type Projection, projectionOf } from '../../../src/core/read/projection.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { readWithReferences } from '../../../src/core/store/references.js'
import { Output } from '../../../src/core/write/output.js'
import { compileDocuments } from '../../../src/core/write/writer.js'
import { eachResource } from '../../support/resources.js'
import { A, a, fillTenants } from '../../support/tenants.js'

const store = embeddedStore()
await fillTenants(store)

/** The paths of all values of a document or of a response. */
const pathsOf = (value: unknown, path = ''): string[] => {
  if (Array.isArray(value)) return value.flatMap((item) => pathsOf(item, path))
  if (typeof value !== 'object' || value === null || value instanceof Date) return [path]
  return Object.entries(value).flatMap(([name, each]) => pathsOf(each, `${path}.${name === '_id' ? 'id' : name}`))
}

/** The paths of all values that a schema may have. None of them may be hidden. */
const pathsIn = (schema: TSchema, named: Projection['named'], without: Without = [], path = ''): string[] => {
  if (isHidden(schema, without)) throw new Error(`${path} is hidden`)
  const { properties, items, anyOf = items && [items] } = named.get(schema.$ref) ?? schema
  // Of an id or a record, the id stands first. It is a record only where a choice has made it one.
  const branches: TSchema[] | undefined = anyOf?.some(isJoined) ? anyOf.slice(0, 1) : anyOf
  const parts: [string, TSchema][] | undefined = properties
    ? Object.entries<TSchema>(properties).map(([name, each]) => [`${path}.${name}`, each])
    : branches?.map((each) => [path, each])
  return parts?.flatMap(([at, each]) => pathsIn(each, named, without, at)) ?? [path]
}

const sorted = (paths: readonly string[]) => [...new Set(paths)].sort()

const choices: Choice[] = [
  {},
  { embed: 'false' },
  { fields: ['updatedAt', 'createdAt'] },
  { names: 'true', embed: 'false' },
  { names: 'true', embed: 'false', fields: ['form', 'agent', 'createdBy'] },
]
const ofEntries: Choice[] = [
  { expand: expandable },
  { expand: ['agent'], names: 'true', fields: ['agent', 'form', 'location'] },
  { answers: 'list' },
  { answers: 'list', expand: ['form'], fields: ['answers', 'form'] },
]

for (const without of [undefined, ['personal'], ['places'], [...hideable]] satisfies Without[]) {
  t.test(`the schema, what is read and the writer agree for a key without ${without ?? 'nothing'}`, async (t) => {
    for (const [name, { idOf }] of eachResource) {
      const shapes = [
        ...[...choices, ...(name === 'entries' ? ofEntries : [])].map((choice) => ['item', choice] as const),
        ['record', {}] as const,
      ]
      for (const [shape, choice] of shapes) {
        const about = `${name} ${shape} ${JSON.stringify(choice)}`
        const projection = projectionOf(resources[name], without, choice, shape)
        const query = projection.query({ organisation: A, ...(without && { without }) }, [{ _id: idOf(a) }], [])
        const { documents } = await readWithReferences(store, query)
        const [document] = documents
        if (document === undefined) throw new Error(about)
        const out = new Output()
        projection.compiled(compileDocuments)(document, out)
        const paths = sorted(pathsIn(projection.schema, projection.named, without))
        t.same(sorted(pathsOf(JSON.parse(out.take().toString()))), paths, `${about}: what is written`)
        // The id of a record that stands beside is always read.
        const read = pathsOf(BSON.deserialize(document.bytes)).filter((path) => !path.endsWith(`${JOINED_SUFFIX}.id`))
        t.same(sorted(read), paths, `${about}: what is read`)
      }
    }
  })
}

const namesOf = ({ schema }: Projection) => Object.keys(schema.properties)
const { entries, dispatches, projects, users } = resources

t.test('a choice shows the chosen fields with the id, in the order of the schema', async (t) => {
  const all = namesOf(projectionOf(entries, undefined))
  t.ok(all.length > 5)
  for (const [resource, without, choice, names] of [
    [entries, undefined, { fields: ['form', 'agent', 'form'] }, ['id', 'form', 'agent']],
    [entries, ['places'], { fields: ['location', 'form'] }, ['id', 'form']],
    [entries, ['places'], {}, all.filter((name) => name !== 'location')],
    [projects, undefined, { embed: 'false', fields: ['dispatches', 'name'] }, ['id', 'name']],
    [dispatches, undefined, { names: 'true', fields: ['form'] }, ['id', 'form', `form${JOINED_SUFFIX}`]],
    [entries, undefined, { names: 'true', fields: ['form'], expand: ['form'] }, ['id', 'form']],
    [entries, ['personal'], { names: 'true', fields: ['agent'] }, ['id', 'agent']],
  ] as const) {
    t.same(namesOf(projectionOf(resource, without, choice)), names, JSON.stringify(choice))
  }
})

t.test(
  'nothing is joined or made for a field that is not shown, and each record to expand is looked up once',
  async (t) => {
    for (const [resource, choice, stages, references] of [
      [projects, { fields: ['name'] }, [], [['createdBy', 'modifiedBy']]],
      [projects, { fields: ['dispatches'], embed: 'false' }, [], []],
      [projects, { fields: ['dispatches'] }, ['$lookup', '$set'], [['createdBy', 'modifiedBy']]],
      [dispatches, { fields: ['name'], embed: 'false' }, [], []],
      [dispatches, { fields: ['recipients'], embed: 'false' }, ['$set', '$set'], []],
      [entries, { expand: ['form', 'agent', 'form'] }, [], [['form'], ['agent']]],
    ] as const) {
      const query = projectionOf(resource, undefined, choice).query({ organisation: A }, [], [])
      t.same(
        query.stages.flatMap((stage) => Object.keys(stage)),
        [...stages, '$project'],
      )
      t.same(
        query.references.map(({ fields }) => fields),
        references,
      )
    }
  },
)

t.test('a feed reads records as they are stored, unless something is made or hidden', async (t) => {
  for (const [resource, without, isStored] of [
    [entries, undefined, true],
    [entries, ['places'], false],
    [projects, undefined, true],
    [dispatches, undefined, false],
    [users, ['personal'], false],
  ] as const) {
    t.equal(projectionOf(resource, without, { embed: 'false' }).isStored, isStored, resource.name)
  }
  t.equal(projectionOf(projects, undefined).isStored, false)
})

t.test('the same choice has one projection, with what was compiled of it, until a hundred others came', async (t) => {
  const first = projectionOf(entries, undefined, { fields: ['form', 'agent'], expand: ['form', 'agent'] })
  const same = { fields: ['agent', 'form', 'agent'], expand: ['agent', 'form'] }
  t.ok(first === projectionOf(entries, undefined, same))
  t.equal(first.compiled(compileDocuments), first.compiled(compileDocuments))
  t.ok(first !== projectionOf(entries, ['places'], same))
  t.ok(first !== projectionOf(entries, undefined, same, 'record'))
  for (let n = 0; n < 97; n++) projectionOf(entries, undefined, { fields: [`f${n}`] })
  t.ok(first === projectionOf(entries, undefined, same))
  for (let n = 0; n < 100; n++) projectionOf(entries, undefined, { fields: [`g${n}`] })
  t.ok(first !== projectionOf(entries, undefined, same))
})
