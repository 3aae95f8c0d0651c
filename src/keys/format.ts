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

/** What a text has that must be looked at for keys: hardly any has. */
const SUSPECT = /%|fda_/i

/** Takes the secrets of keys out of a text, for the log; out of a URL also where it is percent-encoded, even repeatedly. */
export const redacted = (text: string): string =>
  SUSPECT.test(text)
    ? text.replace(/%(25)*[3-7][0-9a-f]/gi, wordCharacter).replace(/fda_([0-9a-z]+)_[0-9a-z_]+/gi, 'fda_$1_[redacted]')
    : text

/** The letter, digit or underscore that a percent code stands for; any other code as it is. */
const wordCharacter = (code: string): string => {
  const character = decodeURIComponent(`%${code.slice(-2)}`)
  return /\w/.test(character) ? character : code
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
