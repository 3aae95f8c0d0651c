// Which questions of a form an assistant means, by their texts or by words of them.
import type { TSchema } from '@sinclair/typebox'
import type { Answered } from '../../schemas/entries.js'
import { type Question, SummaryQuery } from '../../schemas/summaries.js'
import type { Given } from '../core/door/tools.js'
import { runInSlices } from '../core/limits/work.js'
import { formQuestions } from '../core/read/form-questions.js'
import type { Reader } from '../core/read/reader.js'
import { questionKey } from '../core/write/question-columns.js'
import { invalidWithChoices, MOST_ALLOWED, MOST_CHARACTERS, MOST_TOLD, quoted, taken, wordsIn } from './spelling.js'

/** So many words are looked for in so many of the first characters of a question. */
const [MOST_WORDS, MOST_SEARCHED] = [50, 1000]
/** So many questions are looked at before other requests go on: long ones take half a millisecond each. */
const SLICE = 10

/** In these scripts no space is between words, so a word stands in the middle of others. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Khmr}\p{sc=Laoo}\p{sc=Mymr}\p{sc=Thai}\p{sc=Tibt}]/u

/** Questions by what they have of a key, a text or words: all, the same words, or so many. The nearest are first. */
function* rankedBy(asked: string, words: readonly string[], all: readonly Question[]) {
  const ranked: { question: Question; rank: number; parts: number }[] = []
  for (const question of all) {
    const own = wordsIn(question.question.slice(0, MOST_SEARCHED))
    const text = own.join(' ')
    const inParts = words.filter((word) => text.includes(word))
    const hits = inParts.filter((word) => own.includes(word) || UNSPACED.test(word)).length
    const isIt = question.question === asked || question.key === asked
    const rank = text === words.join(' ') ? words.length + 1 : hits
    ranked.push({ question, rank: isIt ? Number.POSITIVE_INFINITY : rank, parts: inParts.length })
    if (ranked.length % SLICE === 0) yield
  }
  return ranked.sort((a, b) => b.rank - a.rank || b.parts - a.parts)
}

/** The questions that a key, a text or words mean. Without one it throws the problem `invalid_parameter`. */
export const questionsMeant = async (reader: Reader, all: readonly Question[], name: string, asked: string) => {
  const words = wordsIn(asked.slice(0, MOST_CHARACTERS)).slice(0, MOST_WORDS)
  const ranked = await runInSlices(rankedBy(asked, words, all), reader.ticket.signal)
  const best = Math.max(1, words.length, ranked[0]?.rank ?? 0)
  const found = ranked.filter(({ rank }) => rank === best).map(({ question }) => question)
  if (found.length > 0) return found
  const message = `has ${quoted(asked)}, but no question of the form has these words: allowed has questions`
  const shown = ranked
    .slice(0, MOST_ALLOWED)
    .map(({ question: { key, question } }) => (question.length > MOST_CHARACTERS ? key : question))
  throw invalidWithChoices(name, message, shown)
}

/** The question, and maybe its answer, that a text means. None or several throw the problem `invalid_parameter`. */
export const questionMeant = async (
  reader: Reader,
  form: string,
  name: string,
  text: string,
  say: (note: string) => void,
): Promise<Answered> => {
  const { questions } = await formQuestions(reader, form)
  // An answer is behind a =, but a question may have one too.
  const places = name === 'answered' ? [...text.matchAll(/=/g)].slice(0, MOST_TOLD) : []
  const divided = [[text], ...places.map(({ index }) => [text.slice(0, index), text.slice(index + 1)])]
  const isText = ([text]: string[]) => questions.some(({ question }) => question === text)
  const [asked, answer] = (divided.find(isText) ?? divided[1] ?? divided[0]) as [string, string?]
  const found = await questionsMeant(reader, questions, name, asked)
  const [{ key, question }] = found as [Question]
  if (found.length > 1) {
    const told = found.slice(0, MOST_TOLD).map((each) => `${each.key} ${quoted(each.question)}`)
    const message = `has ${quoted(asked)}, which ${found.length} questions have, and allowed has their keys: ${told.join('; ')}`
    const keys = found.slice(0, MOST_ALLOWED).map(({ key }) => key)
    throw invalidWithChoices(name, message, keys)
  }
  say(`${taken(name, asked, question)}, whose key is ${key}`)
  return { key, ...(answer !== undefined && { answer }) }
}

/** The parameters that take questions, and how what is none begins: a name of a field, or a key. */
const { by, measure } = SummaryQuery.properties
const known: Readonly<Record<string, RegExp>> = {
  by: new RegExp((by as TSchema).items.pattern),
  measure: new RegExp((measure as TSchema).pattern),
  answered: /^[\da-f]{12}(=|$)/,
}

/** Puts a key in the place of each text that may be of a question: it is right if one has it. `asked` has the texts. */
export const keyed = (given: Given): { texts: Given; asked: ReadonlyMap<string, string> } => {
  const asked = new Map<string, string>()
  if (given.form === undefined) return { texts: given, asked }
  const texts = Object.entries(given).map(([name, value]) => {
    const pattern = known[name]
    if (pattern === undefined) return [name, value]
    const all = [value as string | string[]].flat().map((text) => {
      const names = name === 'by' ? text.split(',').map((each) => each.trim()) : [text]
      if (text === '' || names.every((each) => pattern.test(each))) return text
      const key = questionKey(text)
      asked.set(key, text)
      return key
    })
    return [name, all.length > 1 ? all : all[0]]
  })
  return { texts: Object.fromEntries(texts), asked }
}
