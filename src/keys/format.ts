// The format of an API key: `fda_<keyId>_<secret><checksum>`, each part in ASCII digits and letters. The secret has 196
// bits. With the checksum a mistyped key is recognised without a query.
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 12
const SECRET_LENGTH = 33
const CHECKSUM_LENGTH = 6
const FORMAT = new RegExp(`^fda_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/** Returns a random integer from 0 up to but not including `limit`. */
export type RandomInteger = (limit: number) => number

/** Makes a key. Only the demo passes its own source of random numbers, so that its keys are always the same. */
export const makeKey = (randomInteger: RandomInteger = randomInt): string => {
  const characters = (count: number) =>
    Array.from({ length: count }, () => ALPHABET[randomInteger(ALPHABET.length)]).join('')
  const idAndSecret = `fda_${characters(ID_LENGTH)}_${characters(SECRET_LENGTH)}`
  return idAndSecret + checksum(idAndSecret)
}

/** The id of a key, or undefined if the key is malformed. */
export const keyIdOf = (key: string): string | undefined => {
  const idAndSecret = key.slice(0, -CHECKSUM_LENGTH)
  return checksum(idAndSecret) === key.slice(-CHECKSUM_LENGTH) ? FORMAT.exec(key)?.[1] : undefined
}

/** The SHA-256 of a key in hexadecimal. Only this is stored, never the key itself. */
export const hashOf = (key: string): string => hash('sha256', key)

/** A text without a match contains neither the prefix of a key nor anything encoded. */
const PREFIX_OR_CODE = /%|fda/i
/** A run of letters and digits of this length may be part of a secret. */
const SUSPECT_LENGTH = 13
/** Runs that are not part of a secret: hexadecimal digits, and up to 24 letters that form words, followed by digits or not. */
const HEXADECIMAL = /^[\da-f]+$/i
const WORDS = /^(?:[A-Z]+|[A-Za-z][a-z]{3,}(?:[A-Z][a-z]{3,})*)\d*$/
const MAX_WORDS_LENGTH = 24
/**
 * Matches a percent code; the prefix of a key with everything up to the next part of a URL or JSON text; and a long run of
 * letters and digits. The prefix must not be part of a word, nor the beginning of a hexadecimal id.
 */
const PIECES = new RegExp(
  `%[\\da-f]{2}|(fda(?<=(?:^|[^\\da-z]|%[\\da-f]{2})...)(?![\\da-f]+(?![\\da-z])))([^&#?/"]*)|[\\da-z]{${SUSPECT_LENGTH},}`,
  'gi',
)
/** A complete key id, as it follows the prefix. */
const KEY_ID = new RegExp(`^[_-][\\da-z]{${ID_LENGTH}}(?![\\da-z])`, 'i')
const REDACTED = '[redacted]'
/** The percent code of a letter, a digit, an underscore or a percent sign. Its own percent sign may be encoded repeatedly. */
const CODE = /%(?:25)*(25|[3-7][\da-f])/gi
/** How many times a text is decoded. */
const MAX_DECODINGS = 4
/** Whether a character is a letter or digit, by its code. */
const isAlphanumeric = Array.from({ length: 256 }, (_, code) => ALPHABET.includes(String.fromCharCode(code)))

/**
 * Removes the secrets of keys from a text for the log, and leaves the key ids readable. It also finds keys that are
 * percent-encoded (even repeatedly), cut off, mistyped or interrupted by other characters. A text without secrets is
 * returned unchanged.
 */
export const redacted = (text: string): string => {
  if (!PREFIX_OR_CODE.test(text) && !hasSuspectRun(text)) return text
  const plain = decoded(text)
  const safe = plain.replace(PIECES, (piece: string, prefix: string | undefined, rest: string) => {
    if (prefix !== undefined) return prefix + redactedRest(rest)
    return piece.startsWith('%') || isHarmless(piece) ? piece : REDACTED
  })
  return safe === plain ? text : safe
}

/**
 * Whether a text contains a run of letters and digits that may be part of a secret. This is called for every URL, so it
 * looks only at every 13th character, because such a run contains at least one of these, and from there in both directions.
 */
const hasSuspectRun = (text: string): boolean => {
  for (let at = SUSPECT_LENGTH - 1; at < text.length; at += SUSPECT_LENGTH) {
    if (!isAlphanumeric[text.charCodeAt(at)]) continue
    let start = at
    while (start > 0 && isAlphanumeric[text.charCodeAt(start - 1)]) start -= 1
    let end = at + 1
    while (end < text.length && isAlphanumeric[text.charCodeAt(end)]) end += 1
    if (end - start >= SUSPECT_LENGTH && !isHarmless(text.slice(start, end))) return true
    at = end
  }
  return false
}

const isHarmless = (run: string): boolean =>
  HEXADECIMAL.test(run) || (run.length <= MAX_WORDS_LENGTH && WORDS.test(run))

/** Redacts the text that follows the prefix of a key. */
const redactedRest = (rest: string): string => {
  const id = KEY_ID.exec(rest)?.[0] ?? ''
  if (rest.length < SUSPECT_LENGTH || rest === id) return rest
  return id === '' ? REDACTED : `${id}_${REDACTED}`
}

const decoded = (text: string): string => {
  let plain = text
  for (let i = 0; i < MAX_DECODINGS; i++) {
    const next = plain.replace(CODE, decodedCharacter)
    if (next === plain) break
    plain = next
  }
  return plain
}

const decodedCharacter = (code: string, digits: string): string => {
  const character = String.fromCharCode(Number.parseInt(digits, 16))
  return /[\w%]/.test(character) ? character : code
}

const checksum = (text: string): string => {
  let remainder = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[remainder % ALPHABET.length] + digits
    remainder = Math.floor(remainder / ALPHABET.length)
  }
  return digits
}
