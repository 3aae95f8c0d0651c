// The answers to a form, question by question, as codes for their texts.

/** The most questions, and different answers to one of them, that are kept. The other answers count together. */
const MOST_QUESTIONS = 200
const MOST_VALUES = 1000
const MOST_CHARACTERS = 500
export const OTHER = 'Other answers'
/** A number as the service has it, and how many characters it has at most. */
const NUMERAL = /^[ \t\r\n]*-?\d+(\.\d+)?(e[+-]?\d+)?[ \t\r\n]*$/i
const LONGEST_NUMBER = 100

/** The number that an answer is, or undefined. @param {string} answer */
export const numberIn = (answer) => {
  const number = answer.length <= LONGEST_NUMBER && NUMERAL.test(answer) ? Number(answer) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** The order of answers: numbers first. @param {string} a @param {string} b */
export const byAnswer = (a, b) => {
  const [x = Number.POSITIVE_INFINITY, y = Number.POSITIVE_INFINITY] = [numberIn(a), numberIn(b)]
  return x === y ? (a < b ? -1 : Number(a > b)) : x - y
}

class Question {
  values = [OTHER]
  totals = [0]
  /** The row and the code of each answer. @type {number[]} */
  rows = []
  /** @type {number[]} */
  codes = []
  /** @type {Map<string, number>} */
  #codeOf = new Map()

  /** @param {string} text */
  constructor(text) {
    this.text = text
  }

  /** @param {number} row @param {string} answer */
  add(row, answer) {
    const value = answer.slice(0, MOST_CHARACTERS)
    let code = this.#codeOf.get(value)
    if (code === undefined && this.values.length < MOST_VALUES) {
      code = this.values.push(value) - 1
      this.totals.push(0)
      this.#codeOf.set(value, code)
    }
    this.rows.push(row)
    this.codes.push(code ?? 0)
    this.totals[code ?? 0] += 1
  }

  /** How often each answer was given by the selected entries. @param {Uint16Array} fails @param {number} own bits of filters that do not count */
  count(fails, own) {
    const { rows, codes } = this
    const counts = new Uint32Array(this.values.length)
    for (let index = 0; index < rows.length; index++) if ((fails[rows[index]] & ~own) === 0) counts[codes[index]] += 1
    return counts
  }

  /** Whether a value is all of an answer, so that one can ask for it. @param {number} code */
  isWhole(code) {
    return code > 0 && this.values[code].length < MOST_CHARACTERS
  }

  /** The rows with an answer. @param {string} answer */
  rowsWith(answer) {
    const code = this.#codeOf.get(answer)
    return new Set(this.rows.filter((_, index) => this.codes[index] === code))
  }
}

export class Questions {
  /** @type {Map<string, Question>} */
  #byText = new Map()
  /** How many questions are not kept. */
  left = 0

  get all() {
    return [...this.#byText.values()]
  }

  /** @param {string} text */
  called(text) {
    return this.#byText.get(text)
  }

  /** @param {number} row @param {{ question: string, answer?: string[] }[]} answers */
  add(row, answers) {
    for (const { question: text, answer = [] } of answers) {
      let question = this.#byText.get(text)
      if (question === undefined) {
        if (this.#byText.size === MOST_QUESTIONS) {
          this.left += 1
          continue
        }
        question = new Question(text)
        this.#byText.set(text, question)
      }
      for (const value of answer) question.add(row, value)
    }
  }
}
