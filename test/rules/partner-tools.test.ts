// The files for partners' tools in examples/ know every resource and every field of a feed: what they do not name, some tools
// leave out without a word. acceptance/partner-tools.test.ts runs the tools.
import { readFileSync } from 'node:fs'
import type { TObject } from '@sinclair/typebox'
import t from 'tap'
import { parse } from 'yaml'
import { changed, DeletedRecord } from '../../schemas/sync.js'
import { eachResource } from '../support/resources.js'

/** The JSON Schemas of fields. */
type Fields = Record<string, { type?: string | string[] }>

const airbyte = parse(readFileSync('examples/airbyte.yaml', 'utf8')) as {
  definitions: Fields & { common: Record<string, string> }
  streams: { name: string; schema_loader: { schema: { properties: Record<string, string> } } }[]
}
const singer = JSON.parse(readFileSync('examples/singer.json', 'utf8')) as {
  streams: { name: string; except_keys?: string[]; schema: { properties: Fields } }[]
}
const dlt = readFileSync('examples/dlt_pipeline.py', 'utf8')

/** The fields of a resource in a feed, deletions included. */
const fieldsOf = (item: TObject): Record<string, { type?: string }> => ({
  ...changed(item).properties,
  ...DeletedRecord.properties,
})

/** The types of fields, without null. Where a schema is named, it is that of an object. */
const typesOf = (fields: Fields): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(fields).map(([field, { type = 'object' }]) => [
      field,
      [type].flat().find((name) => name !== 'null'),
    ]),
  )

t.test('the file for Airbyte has the fields of every resource', async (t) => {
  const { common, ...definitions } = airbyte.definitions
  const fields = airbyte.streams.map(({ name, schema_loader }): [string, Fields] => {
    const { $ref, ...own } = schema_loader.schema.properties
    const types = Object.entries({ ...common, ...own }).map(([field, type]) => [
      field,
      typeof type === 'string' ? definitions[type.replace('#/definitions/', '')] : type,
    ])
    return [name, Object.fromEntries(types)]
  })
  t.same(
    new Map(fields.map(([name, fields]) => [name, typesOf(fields)])),
    new Map(eachResource.map(([name, { item }]) => [name, typesOf(fieldsOf(item.schema))])),
  )
})

t.test('the file for Singer has the fields of every resource, with lists and objects as texts', async (t) => {
  for (const [name, { item }] of eachResource) {
    const [stream, ...others] = singer.streams.filter((stream) => stream.name === name)
    t.same(others, [])
    const types = Object.entries(typesOf(fieldsOf(item.schema)))
    const texts = types.map(([field, type]) => [field, /object|array/.test(String(type)) ? 'string' : type])
    t.same(typesOf(stream?.schema.properties ?? {}), Object.fromEntries(texts), name)
    const objects = types.filter(([, type]) => type === 'object').map(([field]) => field)
    t.same(stream?.except_keys ?? [], objects, name)
  }
})

t.test('the file for dlt has every resource, and the type of every number', async (t) => {
  for (const [name, { item }] of eachResource) {
    const numbers = Object.entries(fieldsOf(item.schema)).filter(([, { type }]) => type === 'number')
    const columns = numbers.map(([field]) => `"${field}": {"data_type": "double"}`).join(', ')
    const fields = `"endpoint": {"params": part}, "columns": {${columns}}`
    t.ok(dlt.includes(columns === '' ? `"${name}",` : `{"name": "${name}", ${fields}},`), name)
  }
})
