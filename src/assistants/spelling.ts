// How texts are compared with what an assistant gives, and how it is told what was taken, or what there is.
import { invalidParameter } from '../core/problems/problems.js'

/** How many values an error lists, and of how many records or questions it says more than their ids or keys. */
export const [MOST_ALLOWED, MOST_TOLD] = [100, 10] as const
export const MOST_CHARACTERS = 200

export const invalidWithChoices = (name: string, message: string, allowed: string[]) =>
  invalidParameter(name, message, 'query', allowed)

export const quoted = (text: string): string => JSON.stringify(text.slice(0, MOST_CHARACTERS))

/** Accents, and what cannot be seen. In other scripts, marks are vowels, tones or a part of a letter: without them, a word is another one. */
const ACCENTS = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{M}+|\p{Default_Ignorable_Code_Point}/gu
/** A text without what people leave out: cases and accents. */
const folded = (text: string): string =>
  text.normalize('NFD').replace(ACCENTS, '$1').normalize('NFC').toUpperCase().toLowerCase()
const plain = (text: string): string => folded(text).replace(/\s/g, '')
export const isLike = (text: string): ((other: string) => boolean) => {
  const wanted = plain(text)
  return (other) => plain(other) === wanted
}
/** Those that have a text in them, or begin it, come first. */
export const nearestTo = (text: string, all: readonly string[]): string[] => {
  const wanted = plain(text)
  const near = all.filter((each) => plain(each).includes(wanted) || (each && wanted.startsWith(plain(each))))
  return [...new Set([...near, ...all])].slice(0, MOST_ALLOWED)
}

export const taken = (name: string, given: string, as: string): string =>
  `${name} ${quoted(given)} was taken for ${quoted(as)}`

export const wordsIn = (text: string): string[] => folded(text).match(/[^\s\p{P}]+/gu) ?? []
