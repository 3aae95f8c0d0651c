// Tables in the terminal.
import t from 'tap'
import { cellOf, table } from '../../src/commands/table.js'

t.test('a table shows strings and dates in columns, and a dash for anything else', async (t) => {
  const stored = [
    { id: 'a', name: 'First\u001b\n', at: new Date(0) },
    { id: 'long', name: ['odd'], at: new Date(Number.NaN) },
    { id: 7, name: 'Third' },
  ]
  const rows = stored.map(({ id, name, at }) => ({ id: cellOf(id), name: cellOf(name), at: cellOf(at) }))
  t.same(table(['id', 'name', 'at'], rows), [
    'id    name               at',
    'a     First\\u001b\\u000a  1970-01-01T00:00:00.000Z',
    'long  -                  -',
    '-     Third              -',
  ])
  t.same(table(['id', 'name'], []), ['id  name'])
})
