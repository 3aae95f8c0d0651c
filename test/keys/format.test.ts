// The format of keys, and how their secrets are kept out of the log.
import t from 'tap'
import { createRandom } from '../../seed/random.js'
import { keyIdOf, makeKey, redacted } from '../../src/keys/format.js'

t.test('a key has an id, a secret and a checksum, and no two keys are equal', async (t) => {
  const keys = Array.from({ length: 200 }, () => makeKey())
  t.equal(new Set(keys).size, 200)
  for (const key of keys) {
    t.match(key, /^fda_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/)
    t.equal(keyIdOf(key), key.slice(4, 16))
  }
})

t.test('a mistyped key has no id', async (t) => {
  const key = makeKey()
  for (const at of [0, 5, 16, 20, key.length - 1]) {
    const wrong = key[at] === 'x' ? 'y' : 'x'
    t.equal(keyIdOf(key.slice(0, at) + wrong + key.slice(at + 1)), undefined, `character ${at}`)
  }
  for (const text of ['', 'fda_', key.slice(1), `${key}x`, key.toUpperCase()]) t.equal(keyIdOf(text), undefined)
})

t.test('a secret is removed from a text, and the id of the key stays', async (t) => {
  const key = makeKey()
  t.equal(redacted(`/x?a=${key}&b=${key}`), `/x?a=fda_${keyIdOf(key)}_[redacted]&b=fda_${keyIdOf(key)}_[redacted]`)
  const encoded = [...key].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  t.equal(redacted(`/x?a=${encoded}&b=%2F%3d%zz`), `/x?a=fda_${keyIdOf(key)}_[redacted]&b=%2F%3d%zz`)
})

/** How many consecutive characters of a secret may appear in the log. */
const MAX_VISIBLE = 12

/** The same keys and manglings in every run, because a few pieces of keys look like words by chance. */
const random = createRandom(1)
const randomInteger = (limit: number) => Math.floor(random() * limit)
const oneOf = <T>(list: readonly T[]): T => list[randomInteger(list.length)] as T

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const strange = [
  ...ALPHABET,
  ...'_-.~+ \t\n%&#?/"\'=:;,()é\u00ad',
  '%20',
  '%0A',
  '%0d%0a',
  '%2F',
  '%26',
  '%5F',
  '%25',
  '%C3%A9',
]
const encode = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
const some = (text: string, change: (character: string) => string) => {
  const share = random()
  return [...text].map((character) => (random() < share ? change(character) : character)).join('')
}
const split = (text: string): [string, string] => {
  const at = randomInteger(text.length + 1)
  return [text.slice(0, at), text.slice(at)]
}

const manglings: Record<string, (key: string) => string> = {
  unchanged: (key) => key,
  'with one character missing': (key) => {
    const [head, tail] = split(key)
    return head + tail.slice(1)
  },
  'with one character more': (key) => split(key).join(oneOf(strange)),
  'with another character': (key) => {
    const [head, tail] = split(key)
    return head + oneOf(strange) + tail.slice(1)
  },
  'percent-encoded': (key) => some(key, encode),
  'percent-encoded twice': (key) => some(some(key, encode), encode),
  'percent-encoded repeatedly': (key) => {
    let text = key.replaceAll('_', '%5F')
    for (let times = randomInteger(6); times > 0; times--) text = text.replaceAll('%', '%25')
    return text
  },
  'in upper case': (key) => key.toUpperCase(),
  'in lower case': (key) => key.toLowerCase(),
  'in mixed case': (key) =>
    some(key, (character) => (random() < 0.5 ? character.toUpperCase() : character.toLowerCase())),
  'cut off': (key) => split(key)[0],
  'without its beginning': (key) => split(key)[1],
  'in two parts': (key) => split(key).join(oneOf(['&b=', '/', '?', '%20', '", "', ' ', '\n', '=', '#'])),
  'in many parts': (key) => key.replace(/.{4}/g, `$&${oneOf(['%20', ' ', '%0A', '-', '+', '.'])}`),
  'with other dashes': (key) => key.replaceAll('_', oneOf(['-', '', ' ', '%20', '%2D', '__', '.'])),
  'reduced to its secret': (key) => key.slice(17),
}

const places: ((text: string) => string)[] = [
  (text) => text,
  (text) => `/v1/entries?token=${text}&page=2`,
  (text) => `/v1/entries/${text}?page=2`,
  (text) => `/v1/entries?x=Bearer%20${text}`,
  (text) => `{"key":"${text}"}`,
  (text) => `${text}/5.0 (X11; Linux)`,
]

/** The longest piece of a secret in a text, ignoring case and percent-encoding. */
const longestPiece = (text: string, secret: string): string => {
  let plain = text
  for (let i = 0; i < 8; i++) {
    plain = plain.replace(/%(25|[3-7][\da-f])/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)))
  }
  const seen = plain.toLowerCase()
  const sought = secret.toLowerCase()
  let longest = ''
  for (let start = 0; start < sought.length; start++) {
    for (let end = start + longest.length + 1; end <= sought.length; end++) {
      if (!seen.includes(sought.slice(start, end))) break
      longest = sought.slice(start, end)
    }
  }
  return longest
}

for (const [mangled, mangle] of Object.entries(manglings)) {
  t.test(`a key ${mangled} leaves at most a few characters of its secret`, async (t) => {
    const left: string[] = []
    for (let i = 0; i < 3000; i++) {
      const key = makeKey(randomInteger)
      const text = oneOf(places)(mangle(key))
      const safe = redacted(text)
      if (longestPiece(safe, key.slice(17)).length > MAX_VISIBLE) left.push(`${text} -> ${safe}`)
    }
    t.same(left, [])
  })
}

t.test('the id of a key stays readable where it is complete', async (t) => {
  const key = makeKey(randomInteger)
  const id = keyIdOf(key)
  for (const [text, shown] of [
    [`/x?a=${key}&b=1`, `/x?a=fda_${id}_[redacted]&b=1`],
    [`/x?a=Bearer%20${key}`, `/x?a=Bearer%20fda_${id}_[redacted]`],
    [`/x/${key.slice(0, 30)}/y`, `/x/fda_${id}_[redacted]/y`],
    [`fda-${id}-${key.slice(17)}`, `fda-${id}_[redacted]`],
    [`fda_${id}`, `fda_${id}`],
    [`/x?a=fda${id}${key.slice(17)}#z`, '/x?a=fda[redacted]#z'],
    [`"${key.slice(17)}"`, '"[redacted]"'],
  ] as const) {
    t.equal(redacted(text), shown)
  }
})

t.test('a text without a key is unchanged', async (t) => {
  for (const text of [
    '/v1/entries?status=accepted&perPage=1',
    '/v1/entries/6592c7da0000060000000002',
    '/v1/entries/fda2c7da0000060000000002?x=%20fda2c7da0000060000000002',
    '/v1/entries?dispatch=65850cb40000050000000000&page=2&perPage=50&sortBy=createdAt&sortOrder=desc',
    '/v1/projects?name=Water%20and%20Sanitation%2C%20Baseline%20Questionnaire2024%25',
    '/v1/projects?name=%E5%B8%82%E5%9C%BA%20HouseholdSurvey%20IMMUNISATIONS',
    '/docs/files/swagger-ui-bundle.3f6abf70480d.js',
    '0b9f9a4e-0d3c-4f1e-9a0a-3a6d5ad0a0a1',
    'fda1b2c3-0d3c-4f1e-9a0a-3a6d5ad0a0a1',
    '0b9f9a4e0d3c4f1e9a0a3a6d5ad0a0a1',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    '1750000000000',
    '市场市场市场市场市场市场市场',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
    'PostmanRuntime/7.36.0',
    'fda/1.0 (fda)',
    '%',
    '',
  ]) {
    t.equal(redacted(text), text)
  }
})
