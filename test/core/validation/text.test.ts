// Validation of text: the message for each keyword and format.
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { strict } from '../../../schemas/kit.js'
import { textChecker } from '../../../src/core/validation/text.js'

t.test('valid input gets its types and defaults, and is not changed itself', async (t) => {
  const check = textChecker(
    strict({ page: Type.Integer({ minimum: 1, maximum: 9, default: 1 }), name: Type.Optional(Type.String()) }),
  )
  const input = { page: '3', name: '4' }
  t.same(check(input), { value: { page: 3, name: '4' } })
  t.same(input, { page: '3', name: '4' })
  t.same(check({}), { value: { page: 1 } })
})

t.test('each keyword and format has its own message', async (t) => {
  const check = textChecker(
    strict({
      count: Type.Integer({ minimum: 1, maximum: 9 }),
      order: Type.Unsafe<string>({ type: 'string', enum: ['asc', 'desc'] }),
      name: Type.String({ minLength: 1 }),
      code: Type.String({ minLength: 3 }),
      proxies: Type.String({ format: 'address-list' }),
      since: Type.String({ format: 'date-time' }),
      ids: Type.Array(Type.String({ minLength: 1 }), { maxItems: 3 }),
      fields: Type.Array(Type.Unsafe<string>({ type: 'string', enum: ['id', 'name'] })),
    }),
  )
  const since = '2025-03-14T09:26:53.589Z'
  const valid = { count: '1', order: 'asc', name: 'a', code: 'abc', proxies: '::1', since, ids: 'a,b,a', fields: 'id' }
  t.same(check(valid), {
    value: { ...valid, count: 1, since: new Date(since), ids: ['a', 'b', 'a'], fields: ['id'] },
  })
  const fields = (shown: string) => ({
    name: 'fields',
    message: `has ${shown}, but must be one or more of id, name, separated by commas`,
    allowed: ['id', 'name'],
  })
  const cases: [object, { name: string; message: string; allowed?: string[] }][] = [
    [{ count: 'x' }, { name: 'count', message: 'must be an integer from 1 to 9' }],
    [{ count: '0' }, { name: 'count', message: 'must be an integer from 1 to 9' }],
    [{ count: '10' }, { name: 'count', message: 'must be an integer from 1 to 9' }],
    [{ order: 'up' }, { name: 'order', message: 'must be one of asc, desc', allowed: ['asc', 'desc'] }],
    [{ name: '' }, { name: 'name', message: 'must not be empty' }],
    [{ code: 'ab' }, { name: 'code', message: 'must have at least 3 characters' }],
    [
      { proxies: 'x' },
      { name: 'proxies', message: 'must be a list of IP addresses or CIDR ranges, separated by commas' },
    ],
    [
      { since: '2025-02-30T00:00:00Z' },
      {
        name: 'since',
        message:
          'must be a time with a time zone (RFC 3339), such as 2025-03-14T09:26:53.589Z or 2025-03-14T10:26:53+01:00; in a URL, + is written as %2B',
      },
    ],
    [{ ids: 'a,b,c,d' }, { name: 'ids', message: 'must have at most 3 values, separated by commas' }],
    ...['', ',', 'a,,b', 'a,'].map((ids): [object, { name: string; message: string }] => [
      { ids },
      { name: 'ids', message: 'must be values separated by commas, none of them empty' },
    ]),
    [{ ids: ['a,b', 'c', 'd'] }, { name: 'ids', message: 'must have at most 3 values, separated by commas' }],
    [{ ids: ['a', ''] }, { name: 'ids', message: 'must be values separated by commas, none of them empty' }],
    [{ fields: 'name,other,another' }, fields('"other"')],
    [{ fields: 'na"m\ne' }, fields('"na\\"m\\ne"')],
    [{ fields: 'x'.repeat(50) }, fields(`"${'x'.repeat(50)}"`)],
    [{ fields: 'x'.repeat(51) }, fields(`"${'x'.repeat(50)}…"`)],
    ...['', 'id,', ',id'].map((value): [object, ReturnType<typeof fields>] => [
      { fields: value },
      fields('an empty value'),
    ]),
    [{ fields: ['id', 'other'] }, fields('"other"')],
    [{ name: ['a', 'b'] }, { name: 'name', message: 'must be given only once' }],
    [{ name: undefined }, { name: 'name', message: 'is required' }],
    [{ other: 'x' }, { name: 'other', message: 'is not a parameter of this operation', allowed: Object.keys(valid) }],
  ]
  for (const [input, error] of cases) t.same(check({ ...valid, ...input }), { errors: [error] }, JSON.stringify(input))
})

t.test('every invalid value has one error', async (t) => {
  const check = textChecker(strict({ a: Type.String({ minLength: 2, format: 'base-url' }), b: Type.String() }))
  t.same(check({ a: '' }), {
    errors: [
      { name: 'b', message: 'is required' },
      { name: 'a', message: 'must have at least 2 characters' },
    ],
  })
})

t.test('a keyword without a message of its own has that of Ajv, and an unknown format is refused', async (t) => {
  const check = textChecker(
    strict({ code: Type.String({ pattern: '^a' }), ids: Type.Array(Type.String(), { minItems: 2 }) }),
  )
  t.same(check({ code: 'b', ids: 'x' }), {
    errors: [
      { name: 'code', message: 'must match pattern "^a"' },
      { name: 'ids', message: 'must NOT have fewer than 2 items' },
    ],
  })
  t.throws(() => textChecker(strict({ name: Type.String({ format: 'odd' }) })), { message: /unknown format "odd"/ })
})
