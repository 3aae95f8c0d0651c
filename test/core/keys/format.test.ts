// The format of keys, and how their secrets are kept out of the log.
import { createHash } from 'node:crypto'
import t from 'tap'
import { hashOf, keyIdOf, makeKey, redacted } from '../../../src/core/keys/format.js'

t.test('a key has an id, a secret and a checksum, and no two keys are equal', async (t) => {
  const keys = Array.from({ length: 200 }, () => makeKey())
  t.equal(new Set(keys).size, 200)
  const isRight = (key: string) =>
    /^fda_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/.test(key) && keyIdOf(key) === key.slice(4, 16)
  t.same(
    keys.filter((key) => !isRight(key)),
    [],
  )
})

t.test('a mistyped key has no id', async (t) => {
  const key = makeKey()
  for (const at of [0, 5, 16, 20, key.length - 1]) {
    const wrong = key[at] === 'x' ? 'y' : 'x'
    t.equal(keyIdOf(key.slice(0, at) + wrong + key.slice(at + 1)), undefined, `character ${at}`)
  }
  for (const text of ['', 'fda_', key.slice(1), `${key}x`, key.toUpperCase()]) t.equal(keyIdOf(text), undefined)
})

t.test('the hash of a key is its SHA-256, and that of a restricted key is marked', async (t) => {
  const key = makeKey()
  const sha256 = createHash('sha256').update(key).digest('hex')
  t.equal(hashOf(key), sha256)
  t.equal(hashOf(key, {}), sha256)
  const all = [
    ...[{ only: { project: ['a'] } }, { only: { form: ['a'] } }, { only: { project: ['a', 'b'] } }],
    ...[{ from: ['::1'] }, { only: { form: ['a'] }, from: ['::1'] }],
  ]
  for (const restrictions of all) {
    const hash = hashOf(key, restrictions)
    // An earlier release takes 64 hexadecimal digits alone for a hash.
    t.match(hash, /^restricted:[0-9a-f]{64}$/)
    t.notMatch(hash, sha256)
  }
})

t.test('a secret is removed from a text, and the id of its key stays', async (t) => {
  const key = makeKey()
  const id = keyIdOf(key)
  for (const [text, shown] of [
    [`/x?a=${key}&b=${key}`, `/x?a=fda_${id}_[redacted]&b=fda_${id}_[redacted]`],
    [key.slice(0, 30), `fda_${id}_[redacted]`],
    [`${key}${key}`, `fda_${id}_[redacted]`],
    [key.toUpperCase(), `FDA_${id?.toUpperCase()}_[redacted]`],
    [`fda_${key.slice(17)}`, 'fda_[redacted]'],
    [`fda_${id}`, 'fda_[redacted]'],
    [`x ${key.slice(4)}&`, `x ${id}_[redacted]&`],
    ['fda_', 'fda_'],
  ] as const) {
    t.equal(redacted(text), shown)
  }
  for (const user of ['', 'u', 'us', 'key:', 'a user:']) {
    for (const coding of ['base64', 'base64url'] as const) {
      const shown = redacted(`Basic ${Buffer.from(user + key).toString(coding)}`)
      t.match(shown, /^Basic [\w-]*\[redacted\]=*$/)
    }
  }
})

t.test('a text without a key is unchanged', async (t) => {
  for (const text of [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
    'Water and Sanitation, Baseline Questionnaire2024%',
    'fda1b2c3-0d3c-4f1e-9a0a-3a6d5ad0a0a1',
    'WyJhIiwiMjAyNS0wMy0xNFQwOToyNjo1My41ODlaIiwiZW50cnktMSJd',
    '',
  ]) {
    t.equal(redacted(text), text)
  }
})
