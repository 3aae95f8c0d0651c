// What of a key may reach the log, however it was mangled on its way.
import t from 'tap'
import { createRandom } from '../../seed/random.js'
import { keyIdOf, makeKey, redacted } from '../../src/keys/format.js'

/** How many characters of a secret may stand in the log in a row. */
const MOST_LEFT = 12

/** The same keys and manglings in every run: of all pieces of keys some few are words by chance. */
const random = createRandom(1)
const draw = (limit: number) => Math.floor(random() * limit)
const oneOf = <T>(list: readonly T[]): T => list[draw(list.length)] as T

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
  const at = draw(text.length + 1)
  return [text.slice(0, at), text.slice(at)]
}

const manglings: Record<string, (key: string) => string> = {
  'left as it is': (key) => key,
  'one character missing': (key) => {
    const [head, tail] = split(key)
    return head + tail.slice(1)
  },
  'one character more': (key) => split(key).join(oneOf(strange)),
  'another character': (key) => {
    const [head, tail] = split(key)
    return head + oneOf(strange) + tail.slice(1)
  },
  'percent-encoded': (key) => some(key, encode),
  'percent-encoded twice': (key) => some(some(key, encode), encode),
  'percent-encoded as a whole, again and again': (key) => {
    let text = key.replaceAll('_', '%5F')
    for (let times = draw(6); times > 0; times--) text = text.replaceAll('%', '%25')
    return text
  },
  'in capitals': (key) => key.toUpperCase(),
  'without capitals': (key) => key.toLowerCase(),
  'in another case': (key) =>
    some(key, (character) => (random() < 0.5 ? character.toUpperCase() : character.toLowerCase())),
  'cut off': (key) => split(key)[0],
  'without its beginning': (key) => split(key)[1],
  'in two': (key) => split(key).join(oneOf(['&b=', '/', '?', '%20', '", "', ' ', '\n', '=', '#'])),
  'in many parts': (key) => key.replace(/.{4}/g, `$&${oneOf(['%20', ' ', '%0A', '-', '+', '.'])}`),
  'with other dashes': (key) => key.replaceAll('_', oneOf(['-', '', ' ', '%20', '%2D', '__', '.'])),
  'its secret alone': (key) => key.slice(17),
}

const places: ((text: string) => string)[] = [
  (text) => text,
  (text) => `/v1/entries?token=${text}&page=2`,
  (text) => `/v1/entries/${text}?page=2`,
  (text) => `/v1/entries?x=Bearer%20${text}`,
  (text) => `{"key":"${text}"}`,
  (text) => `${text}/5.0 (X11; Linux)`,
]

/** The longest piece of a secret in a text, whatever its case and however it is encoded. */
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
  t.test(`a key, ${mangled}, leaves no more than a few characters of its secret`, async (t) => {
    const left: string[] = []
    for (let i = 0; i < 3000; i++) {
      const key = makeKey(draw)
      const text = oneOf(places)(mangle(key))
      const safe = redacted(text)
      if (longestPiece(safe, key.slice(17)).length > MOST_LEFT) left.push(`${text} -> ${safe}`)
    }
    t.same(left, [])
  })
}

t.test('the id of a key that is whole but for its secret stays readable', async (t) => {
  const key = makeKey(draw)
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

t.test('what is no key stays as it is', async (t) => {
  for (const text of [
    '/v1/entries?status=accepted&perPage=1',
    '/v1/entries/6592c7da0000060000000002',
    '/v1/entries/fda2c7da0000060000000002?x=%20fda2c7da0000060000000002',
    '/v1/entries?dispatch=65850cb40000050000000000&page=2&perPage=50&sortBy=createdAt&sortOrder=desc',
    '/v1/projects?name=Water%20and%20Sanitation%2C%20Baseline%20Questionnaire2024%25',
    '/v1/projects?name=%E5%B8%82%E5%9C%BA%20HouseholdSurvey%20IMMUNISATIONS',
    '/docs/static/swagger-ui-standalone-preset.js',
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
