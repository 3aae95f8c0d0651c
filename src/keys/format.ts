// What an API key looks like: `fda_<keyId>_<secret><checksum>`, in the digits and letters of ASCII. The secret has 196
// bits; the checksum tells a mistyped key from an unknown one without asking the database.
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 12
const SECRET_LENGTH = 33
const CHECKSUM_LENGTH = 6
const FORMAT = new RegExp(`^fda_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/** Gives a number from 0 up to but not including `limit`. */
export type Draw = (limit: number) => number

/** Makes a key. Only the demo draws otherwise than at random. */
export const makeKey = (draw: Draw = randomInt): string => {
  const letters = (count: number) => Array.from({ length: count }, () => ALPHABET[draw(ALPHABET.length)]).join('')
  const unchecked = `fda_${letters(ID_LENGTH)}_${letters(SECRET_LENGTH)}`
  return unchecked + checksum(unchecked)
}

/** The id of a key; undefined if it is malformed. */
export const keyIdOf = (key: string): string | undefined => {
  const unchecked = key.slice(0, -CHECKSUM_LENGTH)
  return checksum(unchecked) === key.slice(-CHECKSUM_LENGTH) ? FORMAT.exec(key)?.[1] : undefined
}

/** What is kept of a key: its SHA-256, in hexadecimal. */
export const hashOf = (key: string): string => hash('sha256', key)

/** What may begin or hide a key, however it was mangled. */
const MARK = /%|fda/i
/** So many letters and digits in a row may be a piece of a secret. */
const LONG = 13
/** What no piece of a secret looks like: hexadecimal digits, and up to so many letters that are words, with or without a number. */
const HEXADECIMAL = /^[\da-f]+$/i
const MOST_IN_WORDS = 24
const WORDS = /^(?:[A-Z]+|[A-Za-z][a-z]{3,}(?:[A-Z][a-z]{3,})*)\d*$/
/**
 * A percent code; the prefix of a key with all that follows it, up to where a URL or a JSON text goes on; a long row of
 * letters and digits. An id of hexadecimal digits may begin with the letters of the prefix.
 */
const PIECES = new RegExp(
  `%[\\da-f]{2}|(fda(?<=(?:^|[^\\da-z]|%[\\da-f]{2})...)(?![\\da-f]+(?![\\da-z])))([^&#?/"]*)|[\\da-z]{${LONG},}`,
  'gi',
)
/** What follows the prefix of a key whose id is as it should be. */
const KEY_ID = new RegExp(`^[_-][\\da-z]{${ID_LENGTH}}(?![\\da-z])`, 'i')
const REDACTED = '[redacted]'
/** The percent code of a letter, a digit, an underscore or a percent sign, which may itself have been encoded many times. */
const CODE = /%(?:25)*(25|[3-7][\da-f])/gi
/** How often a whole text may have been encoded. */
const MOST_ENCODINGS = 4
/** By the code of a character whether it may stand in a row. */
const inRow = Array.from({ length: 256 }, (_, code) => ALPHABET.includes(String.fromCharCode(code)))

/**
 * Takes the secrets of keys out of a text, for the log, and leaves their ids; also of keys that were mangled on their way:
 * percent-encoded, even repeatedly, cut, mistyped, with something in between. A text without any stays as it is.
 */
export const redacted = (text: string): string => {
  if (!MARK.test(text) && !hasSuspectRow(text)) return text
  const plain = decoded(text)
  const safe = plain.replace(PIECES, (piece: string, prefix: string | undefined, rest: string) => {
    if (prefix !== undefined) return prefix + redactedRest(rest)
    return piece.startsWith('%') || isReadable(piece) ? piece : REDACTED
  })
  return safe === plain ? text : safe
}

/** As every URL is asked, it looks at every 13th character alone, and around it at those that may stand in a row with it. */
const hasSuspectRow = (text: string): boolean => {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!inRow[text.charCodeAt(at)]) continue
    let start = at
    while (start > 0 && inRow[text.charCodeAt(start - 1)]) start -= 1
    let end = at + 1
    while (end < text.length && inRow[text.charCodeAt(end)]) end += 1
    if (end - start >= LONG && !isReadable(text.slice(start, end))) return true
    at = end
  }
  return false
}

const isReadable = (row: string): boolean => HEXADECIMAL.test(row) || (row.length <= MOST_IN_WORDS && WORDS.test(row))

/** What is left of the text that follows a prefix. */
const redactedRest = (rest: string): string => {
  const id = KEY_ID.exec(rest)?.[0] ?? ''
  if (rest.length < LONG || rest === id) return rest
  return id === '' ? REDACTED : `${id}_${REDACTED}`
}

const decoded = (text: string): string => {
  let plain = text
  for (let i = 0; i < MOST_ENCODINGS; i++) {
    const next = plain.replace(CODE, character)
    if (next === plain) break
    plain = next
  }
  return plain
}

const character = (code: string, digits: string): string => {
  const found = String.fromCharCode(Number.parseInt(digits, 16))
  return /[\w%]/.test(found) ? found : code
}

const checksum = (text: string): string => {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[rest % ALPHABET.length] + digits
    rest = Math.floor(rest / ALPHABET.length)
  }
  return digits
}
