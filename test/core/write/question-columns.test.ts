// The names of columns of questions.
import t from 'tap'
import { questionColumns, questionKey } from '../../../src/core/write/question-columns.js'

t.test(
  'a name keeps the characters that letters, emoji and their direction need, and no others that are invisible',
  async (t) => {
    const sinhala = 'ශ්\u200dරී ලංකාවේ ඔබ කොහෙද?'
    const persian = 'چه می\u200cخواهید؟'
    const farmer = 'Crops of the \u{1f469}\u200d\u{1f33e}?'
    const wanted: readonly (readonly [string, string])[] = [
      [sinhala, sinhala],
      [persian, persian],
      [farmer, farmer],
      ['مساحة (ha)\u200f?', 'مساحة (ha)\u200f?'],
      ['\u061cא\u200e 5', '\u061cא\u200e 5'],
      // An Arabic sign that stands around digits is seen.
      ['\u0600١٢', '\u0600١٢'],
      ['\ufeffAge\u200b of\u2060 head', 'Age of head'],
      ['\u202eegA\u202c \u2066of\u2069 \u00adwife', 'egA of wife'],
      ['Two\u2028lines\u00a0\t\u3000of\u0000\u001ftext\u0085', 'Two lines of text'],
      ['\u200b \u200d', `\u200d (${questionKey('\u200b \u200d')})`],
      // They look like another name.
      ['st\u200datus', `st\u200datus (${questionKey('st\u200datus')})`],
      ['Who\u200f', `Who\u200f (${questionKey('Who\u200f')})`],
      ['who', `who (${questionKey('who')})`],
    ]
    const names = questionColumns(
      wanted.map(([question]) => question),
      ['id', 'status'],
    )
    t.same(
      names.filter(({ name }, i) => name !== wanted[i]?.[1]),
      [],
    )
  },
)

t.test(
  'a text that looks like the name of another question keeps its name, and the other one gets another',
  async (t) => {
    const looksSo = `Twice (${questionKey('Twice')})`
    t.strictSame(
      questionColumns(['Twice', 'twice', looksSo], []).map(({ name }) => name),
      [`${looksSo} +`, `twice (${questionKey('twice')})`, looksSo],
    )
  },
)
