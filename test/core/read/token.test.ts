// Tokens give their payload back, and whatever else a caller sends is an error that names the parameter.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { decodeToken, encodeToken, type Payload, tokensOf } from '../../../src/core/read/token.js'
import { anyText } from '../../support/texts.js'

const binding = ['org', 'listEntries', { status: 'accepted' }]
const invalid = {
  code: 'invalid_cursor',
  status: 400,
  extra: { errors: [{ in: 'query', name: 'cursor', message: /; begin again with cursor=\*$/ }] },
}

t.test('a token gives its payload back, and is safe in a URL', async () => {
  const item = fc.oneof(anyText, fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }))
  const payloads = fc.array(fc.oneof(item, fc.boolean(), fc.constant(null)))
  const isSame = (payload: Payload) => {
    const token = encodeToken(binding, payload)
    const found = decodeToken('cursor', binding, token)
    return /^[\w-]+$/.test(token) && JSON.stringify(found) === JSON.stringify(payload)
  }
  fc.assert(fc.property(payloads, isSame))
})

t.test('a token is refused with another binding', async (t) => {
  const token = encodeToken(binding, ['x', 1])
  for (const other of [['org-b', ...binding.slice(1)], binding.slice(1), [...binding, null], []]) {
    t.throws(() => decodeToken('cursor', other, token), invalid)
  }
})

t.test('a token is refused when any part of it has changed', async (t) => {
  const token = encodeToken(binding, ['x', 1])
  const bytes = Buffer.from(token, 'base64url')
  const changed = Array.from(bytes, (byte, i) =>
    Buffer.from(bytes)
      .fill(byte ^ 1, i, i + 1)
      .toString('base64url'),
  )
  const garbled = ['', '*', 'x', token.slice(1), token.slice(0, -1), `${token}A`, `${token}=`, `${token}!`, ` ${token}`]
  for (const text of [...changed, ...garbled]) t.throws(() => decodeToken('cursor', binding, text), invalid, text)
})

t.test('a token that was made by hand is refused unless it is a list of simple values', async (t) => {
  const made = (text: string) => {
    const sum = createHash('sha256')
      .update(JSON.stringify([binding, text]))
      .digest()
      .subarray(0, 8)
    return Buffer.concat([Buffer.of(1), sum, Buffer.from(text)]).toString('base64url')
  }
  t.same(decodeToken('cursor', binding, made('["x",1]')), ['x', 1])
  for (const text of ['{"$ne":1}', '[{"$ne":1}]', '[[1]]', '"x"', 'null', '1', '[', '']) {
    t.throws(() => decodeToken('cursor', binding, made(text)), invalid, text)
  }
})

t.test('a token of a list that no list made is refused, even with the right check sum', async (t) => {
  const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 5 } as const
  const bindingOf = (parameter: string) => [
    'org',
    'listEntries',
    parameter,
    Object.entries({ sortBy: 'id', sortOrder: 'asc' }),
  ]
  for (const parameter of ['cursor', 'after']) {
    const token = encodeToken(bindingOf(parameter), [1, 2, 3])
    const asked = { ...listing, [parameter]: token }
    t.throws(() => tokensOf({ organisation: 'org' }, 'listEntries', asked), { code: 'invalid_cursor' }, parameter)
  }
  const asked = { ...listing, after: '*' }
  t.throws(
    () => tokensOf({ organisation: 'org' }, 'listEntries', asked),
    { code: 'invalid_cursor' },
    'after has no first',
  )
})

t.test('a token of a list goes on only in the same list, and for keys that see the same', async (t) => {
  const scope = { organisation: 'org', without: ['places'] } as const
  const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 5, status: 'accepted' } as const
  const start = { position: { value: null, id: 'a' }, isBackward: true, isInclusive: false }
  const after = tokensOf(scope, 'listEntries', listing).encode('after', start)
  const more = { page: 7, perPage: 9, total: 'false', fields: ['id'], answers: 'list', embed: 'false' } as const
  t.same(tokensOf(scope, 'listEntries', { ...listing, ...more, after }).start, start, 'what is shown may differ')
  for (const [otherScope, operationId, changes] of [
    [{ ...scope, organisation: 'other' }, 'listEntries', {}],
    [{ organisation: 'org' }, 'listEntries', {}],
    [{ ...scope, only: { project: ['a'] } }, 'listEntries', {}],
    [scope, 'listForms', {}],
    [scope, 'listEntries', { sortOrder: 'desc' }],
    [scope, 'listEntries', { status: 'rejected' }],
    [scope, 'listEntries', { after: undefined, cursor: after }],
  ] as const) {
    const asked = { ...listing, after, ...changes }
    t.throws(() => tokensOf(otherScope, operationId, asked as typeof listing), { code: 'invalid_cursor' })
  }
  t.equal(tokensOf(scope, 'listEntries', listing).start, undefined)
  t.equal(tokensOf(scope, 'listEntries', { ...listing, cursor: '*' } as typeof listing).start, undefined)
})
