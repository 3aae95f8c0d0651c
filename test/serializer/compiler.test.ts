// Whole responses: envelopes with documents, and envelopes with plain values.
import { type TSchema, Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { Entry } from '../../schemas/entries.js'
import { one, Problem, page } from '../../schemas/envelope.js'
import { refTo } from '../../schemas/kit.js'
import { Project } from '../../schemas/projects.js'
import { BsonList, ResponseTooLarge } from '../../src/bson/reader.js'
import { problem } from '../../src/problems/problems.js'
import { compileResponse, serializerCompiler } from '../../src/serializer/compiler.js'
import { Skipped } from '../../src/serializer/items.js'
import { documentOf, listOf, plain } from '../support/stored.js'

const dated = { createdAt: new Date(0), updatedAt: new Date(1) }
const project = (id: string) => plain({ name: 'é', _id: id, dispatches: [{ _id: 'd' }], organisation: 'o', ...dated })
const projectJson = (id: string) =>
  `{"id":"${id}","dispatches":[{"id":"d"}],"name":"é",` +
  '"createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"1970-01-01T00:00:00.001Z"}'
const metadata = {
  total: 2,
  perPage: 50,
  pageCount: 1,
  hasMore: false,
  pageLinks: { current: 'http://localhost/v1/projects?page=1' },
}

const write = (schema: TSchema, payload: Record<string, unknown>): string => compileResponse(schema)(payload).toString()

t.test('A list is written as {success, data, _metadata}', async (t) => {
  const data = listOf([[project('a')], [project('b')]], 'projects')
  t.equal(
    write(page(Project), { success: true, data, _metadata: metadata }),
    `{"success":true,"data":[${projectJson('a')},${projectJson('b')}],"_metadata":${JSON.stringify(metadata)}}`,
  )
  t.equal(
    write(page(Entry), { success: true, data: new BsonList('entries', []), _metadata: metadata }),
    `{"success":true,"data":[],"_metadata":${JSON.stringify(metadata)}}`,
  )
})

t.test('A single record is written as {success, data}', async (t) => {
  t.equal(
    write(one(Project), { success: true, data: documentOf(project('a'), 'projects') }),
    `{"success":true,"data":${projectJson('a')}}`,
  )
  t.equal(
    write(one(Project), { success: true, data: listOf([[project('a')]], 'projects').first }),
    `{"success":true,"data":${projectJson('a')}}`,
  )
})

t.test('a schema is compiled once', async (t) => {
  const schema = page(Project)
  t.equal(compileResponse(schema), compileResponse(schema))
  t.not(compileResponse(page(Project)), compileResponse(schema))
})

t.test('a large response is the same when it is serialized in steps, between which other work is done', async (t) => {
  const projects = Array.from({ length: 10_000 }, (_, i) => project(`p${i}`))
  const payload = { success: true, data: listOf([projects, [], projects], 'projects'), _metadata: metadata }
  const serialize = compileResponse(page(Project))
  let turns = 0
  let next = setImmediate(function turn() {
    turns += 1
    next = setImmediate(turn)
  })
  const inSteps = await serialize.inSteps(payload)
  clearImmediate(next)
  t.ok(inSteps.equals(serialize(payload)))
  t.ok(turns > 2, `${turns} other turns`)
})

t.test('an error of a response in steps is the same error', async (t) => {
  const data = listOf([[project('a'), plain({ _id: 'b', name: 1 })]], 'projects')
  await t.rejects(compileResponse(page(Project)).inSteps({ success: true, data }), {
    name: 'UnwritableDocument',
    message: 'projects b: dispatches is missing',
  })
})

t.test('a response may leave out the records that do not fit, and list them behind its data', async (t) => {
  const bad = (id: string) => plain({ _id: id, dispatches: [], name: 1, ...dated })
  const message = 'name is BSON int32, not a string'
  const serialize = compileResponse(page(Project))
  const data = () => listOf([[bad('b'), project('a')], [], [bad('c'), bad('d'), project('e'), bad('f')]], 'projects')
  const listed = ['b', 'c', 'd', 'f'].map((id) => `{"id":"${id}","message":"${message}"}`)
  const expected = `{"success":true,"data":[${projectJson('a')},${projectJson('e')}],"_metadata":{"unreadable":[${listed}]}}`
  const payload = (skipped: Skipped) => ({ success: true, data: data(), _metadata: { unreadable: skipped.records } })
  const [skipped, other] = [new Skipped(), new Skipped()]
  t.equal(serialize(payload(skipped), skipped).toString(), expected)
  t.equal((await serialize.inSteps(payload(other), undefined, other)).toString(), expected)
  const few = new Skipped(100)
  t.throws(() => serialize(payload(few), few), new ResponseTooLarge())
})

t.test('answers are written as they are stored, or each as a list', async (t) => {
  const answers = [
    { type: 'x', question: 'One?', answer: 'a' },
    { type: 'x', question: 'Many?', answer: ['a', 'b'] },
    { type: 'x', question: 'None?', answer: null },
  ]
  const entry = plain({ _id: 'a', status: 'x', answers, ...dated })
  const schema = one(Entry)
  const shown = (lists?: 'list') =>
    JSON.parse(
      compileResponse(schema, lists)({ success: true, data: documentOf(entry, 'entries') }).toString(),
    ).data.answers.map(({ answer }: { answer: unknown }) => answer)
  t.same(shown(), ['a', ['a', 'b'], undefined])
  t.same(shown('list'), [['a'], ['a', 'b'], undefined])
  t.equal(compileResponse(schema, 'list'), compileResponse(schema, 'list'))
})

t.test('A document that does not fit its schema makes the whole response fail', async (t) => {
  const data = documentOf(plain({ _id: 'a', name: 1 }), 'projects')
  t.throws(() => write(one(Project), { success: true, data }), {
    name: 'UnwritableDocument',
    message: 'projects a: dispatches is missing',
  })
})

t.test('Plain values are written as JSON.stringify does', async (t) => {
  const failure = problem('invalid_parameter', 'perPage "é" is bad', {
    errors: [{ in: 'query', name: 'perPage', message: 'must be at most 1000', allowed: ['1'] }],
  }).body('id-1')
  t.equal(write(Problem, failure), JSON.stringify(failure))
  t.equal(write(refTo(Problem), failure), JSON.stringify(failure), 'also through a reference to the schema')
  const health = { success: true, data: { status: 'live' } }
  const Health = Type.Object({ success: Type.Boolean(), data: Type.Object({ status: Type.String() }) })
  t.equal(write(Health, health), JSON.stringify(health))
  t.equal(write(Type.Object({ a: Type.Null() }), { a: null }), '{"a":null}')
})

t.test('Only the properties of the schema are written, in its order', async (t) => {
  const schema = Type.Object({ b: Type.Number(), 'é"': Type.String(), a: Type.Array(Type.String()) })
  t.equal(write(schema, { a: ['x'], x: 1, 'é"': 'y', b: 2 }), '{"b":2,"é\\"":"y","a":["x"]}')
})

t.test('A property that is absent or undefined is left out', async (t) => {
  const schema = Type.Object({ a: Type.Number(), b: Type.Number(), c: Type.Number() })
  t.equal(write(schema, { a: undefined, b: 1 }), '{"b":1}')
  t.equal(write(schema, { c: 1, b: undefined }), '{"c":1}')
  t.equal(write(schema, {}), '{}')
})

t.test('Fastify sends what the serializer writes', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setSerializerCompiler(serializerCompiler)
  const response = {
    200: { description: 'A project.', content: { 'application/json': { schema: one(Project) } } },
    500: Problem,
  }
  app.get('/good', { schema: { response } }, async () => ({ success: true, data: documentOf(project('a')) }))
  app.get('/bad', { schema: { response } }, async () => ({ success: true, data: documentOf([]) }))

  const good = await app.inject('/good')
  t.equal(good.body, `{"success":true,"data":${projectJson('a')}}`)
  t.equal(good.headers['content-length'], String(Buffer.byteLength(good.body)))
  t.equal((await app.inject('/bad')).statusCode, 500)
})
