// Points in time in the forms of RFC 3339, and texts that name none.
import t from 'tap'
import { instantOf, intervalOf } from '../../../src/core/validation/instant.js'

t.test('an offset, a fraction of any length and small letters are read', async (t) => {
  for (const [text, expected] of [
    ['2025-03-14T09:26:53Z', '2025-03-14T09:26:53.000Z'],
    ['2025-03-14T09:26:53.5Z', '2025-03-14T09:26:53.500Z'],
    ['2025-03-14t10:26:53.589+01:00', '2025-03-14T09:26:53.589Z'],
    ['2025-03-14T09:26:53z', '2025-03-14T09:26:53.000Z'],
    ['2025-01-01T00:00:00-23:59', '2025-01-01T23:59:00.000Z'],
    ['2025-01-01T00:00:00-00:00', '2025-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ] as const) {
    t.equal(instantOf(text)?.toISOString(), expected, text)
  }
})

t.test('digits beyond milliseconds are cut off, also before 1970', async (t) => {
  t.equal(instantOf(`2025-03-14T09:26:53.589${'9'.repeat(1000)}Z`)?.toISOString(), '2025-03-14T09:26:53.589Z')
  t.equal(instantOf('1969-12-31T23:59:59.9999Z')?.getTime(), -1)
})

t.test('a text that is no point in time is not read', async (t) => {
  for (const text of [
    '',
    '2025-03-14',
    '2025-03-14T09:26:53',
    '2025-03-14T09:26Z',
    '2025-03-14 09:26:53Z',
    '2025-03-14T09:26:53 01:00',
    '2025-03-14T09:26:53+0100',
    '2025-03-14T09:26:53+24:00',
    '2025-03-14T09:26:53.Z',
    '2025-03-14T09:26:53,5Z',
    '2025-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2025-13-01T00:00:00Z',
    '2025-00-01T00:00:00Z',
    '2016-12-31T23:59:60Z',
    '2025-03-14T24:00:00Z',
    '+02025-03-14T09:26:53Z',
    '1741944413589',
    'now',
    ' 2025-03-14T09:26:53Z',
    '2025-03-14T09:26:53Z\n',
  ]) {
    t.equal(instantOf(text), undefined, text)
  }
})

t.test('an interval has all of its days and seconds, and ends before a day that GDAL writes', async (t) => {
  for (const [text, from, to] of [
    ['2025-06-01', '2025-06-01T00:00:00.000Z', '2025-06-01T23:59:59.999Z'],
    ['2025-06-01T', '2025-06-01T00:00:00.000Z', '2025-06-01T23:59:59.999Z'],
    ['2025-06-01/2025-06-30', '2025-06-01T00:00:00.000Z', '2025-06-30T23:59:59.999Z'],
    ['2025-06-01T/2025-07-01T', '2025-06-01T00:00:00.000Z', '2025-06-30T23:59:59.999Z'],
    ['2025-06-01T/..', '2025-06-01T00:00:00.000Z', undefined],
    ['2025-06-01T09:26:53+01:00', '2025-06-01T08:26:53.000Z', '2025-06-01T08:26:53.999Z'],
    ['../2025-06-01T09:26:53.5Z', undefined, '2025-06-01T09:26:53.500Z'],
  ] as const) {
    const found = intervalOf(text)
    t.same([found?.from?.toISOString(), found?.to?.toISOString()], [from, to], text)
  }
})
