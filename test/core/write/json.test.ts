// JSON as pages have it, as lines, and of plain values.
import assert from 'node:assert/strict'
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { EntryListItem } from '../../../schemas/entries.js'
import { Problem } from '../../../schemas/envelope.js'
import { namedSchemas } from '../../../schemas/index.js'
import { refTo } from '../../../schemas/kit.js'
import { problem } from '../../../src/core/problems/problems.js'
import { asLines, jsonArray, ndjson, serializerCompiler } from '../../../src/core/write/json.js'
import { compileDocuments } from '../../../src/core/write/writer.js'
import { fileOf, itemsOf, mixedLists } from '../../support/formats.js'
import { oneLine } from '../../support/oracle.js'

t.test('each line is an item, and a page is an array of the same items', async () => {
  const write = compileDocuments({ schema: EntryListItem, named: namedSchemas })
  fc.assert(
    fc.property(mixedLists(EntryListItem, 'entries'), (list) => {
      const { items, failures } = itemsOf(EntryListItem, list)
      const lines = fileOf(asLines(ndjson(write)), list)
      const page = fileOf(jsonArray(write), list)
      assert.equal(lines.text, items.map((item) => `${oneLine(JSON.stringify(item))}\n`).join(''))
      assert.equal(page.text, JSON.stringify(items))
      assert.deepEqual([lines.failures, page.failures], [failures, failures])
    }),
    { numRuns: 30 },
  )
})

const written = async (schema: TSchema, payload: object): Promise<string> => {
  const app = Fastify().setSerializerCompiler(serializerCompiler)
  app.get('/', { schema: { response: { 200: schema } } }, async () => payload)
  return (await app.inject('/')).body
}

t.test('plain values are written as JSON.stringify does', async (t) => {
  const errors = [{ in: 'query', name: 'perPage', message: 'must be at most 1000', allowed: ['1'] }]
  const failure = problem('invalid_parameter', 'perPage "é" is bad', { errors }).body('id-1')
  t.equal(await written(Problem, failure), JSON.stringify(failure))
  t.equal(await written(refTo(Problem), failure), JSON.stringify(failure), 'also through a reference to the schema')
})

t.test('only the properties of the schema are written, in its order, as far as they have a value', async (t) => {
  const schema = Type.Object({ b: Type.Number(), 'é"': Type.Optional(Type.Null()), a: Type.Array(Type.String()) })
  t.equal(await written(schema, { a: ['x'], x: 1, 'é"': null, b: 2 }), '{"b":2,"é\\"":null,"a":["x"]}')
  t.equal(await written(schema, { a: undefined, b: 1 }), '{"b":1}')
  t.equal(await written(schema, {}), '{}')
})
