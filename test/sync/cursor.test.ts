// The cursors of feeds: a cursor leads back to its place, in its own feed alone.
import t from 'tap'
import { encodeToken } from '../../src/paging/token.js'
import { decodeCursor, encodeCursor } from '../../src/sync/cursor.js'

const binding = ['org', 'syncEntries', 'changedAt']
const invalid = { code: 'invalid_cursor' }

t.test('a cursor keeps when its copy began and where it is', async (t) => {
  for (const position of [
    { stamp: null, id: null },
    { stamp: null, id: 'é"' },
    { stamp: -8.64e15, id: null },
    { stamp: 1_700_000_000_000, id: 'x' },
  ]) {
    const cursor = { began: 1_700_000_000_000, position }
    t.same(decodeCursor(binding, encodeCursor(binding, cursor)), cursor)
  }
})

t.test('a cursor of another feed, or one that no feed gave, is refused', async (t) => {
  const cursor = encodeCursor(binding, { began: 5, position: { stamp: 5, id: 'x' } })
  for (const other of [
    ['org-b', 'syncEntries', 'changedAt'],
    ['org', 'syncForms', 'changedAt'],
    ['org', 'syncEntries', 'updatedAt'],
  ]) {
    t.throws(() => decodeCursor(other, cursor), invalid)
  }
  for (const payload of [
    [],
    [5],
    [5, 5],
    [null, 5, 'x'],
    [5, 'x', 'x'],
    [5, 0.5, 'x'],
    [5, 8.64e15 + 1, 'x'],
    [5, 5, 5],
    [5, 5, 'x', 5],
  ]) {
    t.throws(() => decodeCursor(binding, encodeToken(binding, payload)), invalid, JSON.stringify(payload))
  }
})
