// The data of the tests shows every field that may be stored, so that no field is served untested.
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { type CollectionName, collections } from '../../src/core/documents/collections.js'
import { testStore } from '../support/store.js'
import { fillTenants } from '../support/tenants.js'

/** The paths of the fields that a stored schema has, with dots; items of arrays have the path of their array. */
const fieldsOf = (schema: TSchema, path = ''): string[] => {
  if (schema.type === 'array') return fieldsOf(schema.items, path)
  if (schema.type !== 'object') return []
  return Object.entries<TSchema>(schema.properties).flatMap(([name, property]) => {
    const field = path === '' ? name : `${path}.${name}`
    return [field, ...fieldsOf(property, field)]
  })
}

/** The values at a path of a document. */
const valuesAt = (value: unknown, [name, ...rest]: readonly string[]): unknown[] => {
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, name === undefined ? [] : [name, ...rest]))
  if (name === undefined) return value === undefined ? [] : [value]
  return valuesAt((value as Record<string, unknown> | undefined)?.[name], rest)
}

/** What no caller sees, or what tests issue for themselves. */
const notServed: readonly CollectionName[] = ['apiKeys', 'seeds']

t.test('test/support/tenants.ts has a value for every stored field', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  const missing: string[] = []
  for (const [name, { schema }] of Object.entries(collections) as [CollectionName, { schema: TSchema }][]) {
    if (notServed.includes(name)) continue
    const documents = await store.dangerouslyFindAll(name, {})
    for (const field of fieldsOf(schema)) {
      if (valuesAt(documents, field.split('.')).length === 0) missing.push(`${name}: ${field}`)
    }
  }
  t.same(missing, [])
})
