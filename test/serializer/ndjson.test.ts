// NDJSON of any entries: each line is what JSON has of an entry.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { EntryListItem } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { ndjson } from '../../src/serializer/ndjson.js'
import { fileOf, itemsOf, mixedLists } from '../support/formats.js'

t.test('each line is an item', async (t) => {
  fc.assert(
    fc.property(mixedLists(EntryListItem, 'entries'), (list) => {
      const { items, failures } = itemsOf(EntryListItem, list)
      const found = fileOf(ndjson(EntryListItem, namedSchemas), list)
      const lines = found.text.split('\n')
      assert.equal(lines.pop(), '', 'the last line has an end')
      assert.deepEqual(
        lines.map((line) => JSON.parse(line)),
        items,
      )
      assert.deepEqual(found.failures, failures)
    }),
    { numRuns: 30 },
  )
  t.pass()
})
