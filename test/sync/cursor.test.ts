// The cursors of feeds: a cursor leads back to its place, in its own feed alone.
import t from 'tap'
import { encodeToken } from '../../src/core/read/token.js'
import { decodeCursor, encodeCursor, START } from '../../src/sync/cursor.js'

const binding = ['org', 'syncEntries', 'changedAt']
const invalid = { code: 'invalid_cursor' }

t.test('a cursor keeps since when deletions must be known, and its places', async (t) => {
  for (const position of [
    { stamp: null, id: null },
    { stamp: null, id: 'é"' },
    { stamp: -8.64e15, id: null },
    { stamp: 1_700_000_000_000, id: 'x' },
    { stamp: 1_700_000_000_000, id: 'x', isInclusive: true },
  ]) {
    for (const places of [
      { settled: position, fresh: null },
      { settled: START, fresh: position },
    ]) {
      const cursor = { since: 1_700_000_000_000, isSettledOnly: position.id === null, ...places }
      t.same(decodeCursor(binding, encodeCursor(binding, cursor)), cursor)
    }
  }
})

t.test('a cursor of another feed, or one that no feed gave, is refused', async (t) => {
  const cursor = encodeCursor(binding, { since: 5, isSettledOnly: false, settled: { stamp: 5, id: 'x' }, fresh: null })
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
    [5, 5, 'x'],
    [5, false, 5, 'x'],
    [null, false, 5, 'x', false],
    [5, 0, 5, 'x', false],
    [5, false, 'x', 'x', false],
    [5, false, 0.5, 'x', false],
    [5, false, 8.64e15 + 1, 'x', false],
    [5, false, 5, 5, false],
    [5, false, 5, 'x', 5],
    [5, false, 5, 'x', false, 5],
    [5, false, 5, 'x', false, 5, 'x', false, 5],
  ]) {
    t.throws(() => decodeCursor(binding, encodeToken(binding, payload)), invalid, JSON.stringify(payload))
  }
})
