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

type Restrictions = { readonly [R in 'only' | 'from']?: unknown }

/** What stands before the hash of a restricted key. */
export const markOf = ({ only, from }: Restrictions): string => (only || from ? 'restricted:' : '')

/**
 * The SHA-256 of a key in hexadecimal. Only this is stored, never the key itself. That of a restricted key is marked: so it is
 * refused where its restrictions were taken away, and by releases that know of none.
 */
export const hashOf = (key: string, restrictions: Restrictions = {}): string =>
  markOf(restrictions) + hash('sha256', markOf(restrictions) + key)

/** A key, or its beginning, in a text. Its id stays readable. */
const IN_TEXT = /(fda_(?:[0-9a-z]{12}_)?)\w+/gi
/** A key without its first part. */
const WITHOUT_START = new RegExp(`\\b([0-9a-z]{${ID_LENGTH}}_)[0-9a-z]{${SECRET_LENGTH}}\\w*`, 'gi')
/** Base64 of a text with a key. Its beginning looks different at each of the three places in a group of three bytes. */
const IN_BASE64 = /(ZmRhX|mZGFf|ZkYV[89])[\w+/-]+/g

/** Replaces the secrets of the keys in a text, also where they are written as HTTP Basic writes them. */
export const redacted = (text: string): string =>
  text.replace(IN_TEXT, '$1[redacted]').replace(WITHOUT_START, '$1[redacted]').replace(IN_BASE64, '$1[redacted]')

const checksum = (text: string): string => {
  let remainder = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[remainder % ALPHABET.length] + digits
    remainder = Math.floor(remainder / ALPHABET.length)
  }
  return digits
}
