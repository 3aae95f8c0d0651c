// The declarations of the stored documents.
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import {
  type CollectionName,
  collections,
  ORGANISATION_ID,
  references,
} from '../../../src/core/documents/collections.js'

/** The paths of the fields that hold ids of other documents. */
const idFields = (schema: TSchema, path = ''): string[] => {
  if (schema.type === 'object') {
    return Object.entries<TSchema>(schema.properties).flatMap(([name, property]) =>
      idFields(property, path === '' ? name : `${path}.${name}`),
    )
  }
  if (schema.type === 'array') return idFields(schema.items, path)
  return schema.minLength === 1 && path !== '_id' ? [path] : []
}

t.test(
  'The collection of every field that holds an id is declared, except for agent groups, which are not stored',
  (t) => {
    for (const [name, { schema }] of Object.entries(collections)) {
      const fields = idFields(schema).filter((field) => field !== 'recipients.agentGroups')
      t.same(Object.keys(references[name as CollectionName] ?? {}).sort(), fields.sort(), name)
    }
    t.end()
  },
)

t.test('No collection refers to itself, so that the lines of a file to load do not depend on each other', (t) => {
  for (const [name, fields] of Object.entries(references)) t.notOk(Object.values(fields).includes(name as never), name)
  t.end()
})

t.test('The identifier of an organisation has no characters with a special meaning', (t) => {
  for (const fit of ['org', 'org-a', '65850cb40000050000000000', 'A.b_c:9', 'x'.repeat(100)]) {
    t.match(fit, ORGANISATION_ID)
  }
  for (const bad of [
    '',
    ' org',
    'org ',
    '$org',
    '-org',
    '.',
    'a/b',
    'é',
    'org\n',
    'a\u0000',
    'a\u202e',
    'x'.repeat(101),
  ]) {
    t.notMatch(bad, ORGANISATION_ID)
  }
  t.end()
})
