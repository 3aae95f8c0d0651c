// The scenario `worst-case`: every field at its largest, smallest or strangest that still fits the stored schemas.
import type {
  AgentDocument,
  DispatchDocument,
  EntryDocument,
  FormDocument,
  ProjectDocument,
  UserDocument,
} from '../src/core/documents/collections.js'
import { type Batch, batches } from './index.js'

/** As long as the id of an organisation may be, with every character that it may have beside letters and digits. */
const organisation = `worst.case_of:all-${'0'.repeat(82)}`

const emoji = '👩🏽‍🚒👨‍👩‍👧‍👦🇳🇬❤️‍🔥'
/** Texts that programs have stumbled over. */
const shortTexts = [
  ...['', ' ', '\t\r\n', '\0', '\u001b[31m', '\u2028\u2029', '\ufeff', '\uffff', '\u202etxet\u202c', '\u200b'],
  ...['"\\/\b\f', "'; DROP TABLE entries; --", '</script><script>alert(1)</script>', '=1+1', '{"$gt":""}', '%00%2F'],
  ...['null', 'undefined', 'NaN', 'true', '0', '-1e999', '__proto__', 'constructor', '2025-02-30T25:61:61Z'],
  ...['مرحبا بالعالم', 'שלום עולם', 'नमस्ते दुनिया', '你好，世界', 'Ọlátúnjí', 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢', '𝔘𝔫𝔦𝔠𝔬𝔡𝔢', 'ﷺ', emoji],
]
const texts = [...shortTexts, 'x'.repeat(100_000), '€'.repeat(30_000), '💧'.repeat(20_000), `${emoji}\n`.repeat(2000)]
/** A name has at most 250 UTF-16 units. */
const names = [...shortTexts, 'x'.repeat(250), '€'.repeat(250), '💧'.repeat(125)]
/** An id has 1 to 500 UTF-16 units, and no control characters. */
const ids = [
  ...shortTexts.filter((text) => /^\P{Cc}+$/u.test(text)),
  ...[
    'a/b?c=d#e&f',
    'a,b',
    'a;b',
    '100%',
    '%2F',
    '*',
    '+',
    '~',
    '|',
    '$',
    '@',
    ':',
    '(a)',
    'x'.repeat(500),
    '€'.repeat(500),
    '💧'.repeat(250),
  ],
]
const dates = [
  ...['0001-01-01T00:00:00.000Z', '1582-10-15T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'],
  ...['2000-02-29T12:00:00.000Z', '2038-01-19T03:14:08.000Z', '9999-12-31T23:59:59.999Z'],
].map((text) => new Date(text))
const numbers = [0, -1, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, -1e21, 2 ** 31, 2 ** 53, Number.MIN_SAFE_INTEGER]

const RECIPIENTS = 2000
const SAME_INSTANT = 1500
const ANSWERS = 2000
const DEPTH = 40

const noon = new Date('2025-06-30T12:00:00.000Z')
const dated = { createdAt: noon, updatedAt: noon }
const at = <T>(items: readonly T[], n: number): T => items[n % items.length] as T
const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))
/** The n-th document of every kind: with a strange id, at the edges of time, or plain. */
const common = (n: number) => ({
  _id: ids[n] ?? `plain-${n}`,
  organisation,
  ...(n < dates.length ? { createdAt: at(dates, n), updatedAt: at(dates, dates.length - 1) } : dated),
})
const nested = (depth: number): unknown => (depth === 0 ? [] : { deeper: [nested(depth - 1)] })

const person = (n: number) => ({
  ...common(n),
  ...{ status: at(shortTexts, n), firstName: at(texts, n), lastName: at(texts, n + 1) },
})

const users: UserDocument[] = many(texts.length, (n) => ({
  ...person(n),
  ...(n % 2 === 0 && { role: { name: at(texts, n) }, email: at(texts, n), lastLogin: at(dates, n) }),
}))

const agents: AgentDocument[] = many(RECIPIENTS, (n) =>
  n < 2 * texts.length
    ? {
        ...person(n),
        ...(n % 2 === 0 && { email: at(texts, n), phone: at(texts, n), lastLogin: at(dates, n) }),
        location: at([[], [{}], many(100, () => ({ country: at(shortTexts, n), city: at(shortTexts, n + 1) }))], n),
      }
    : { ...common(n), status: 'active', firstName: emoji, lastName: String(n), location: [] },
)

const forms: FormDocument[] = many(ids.length + names.length, (n) => ({
  ...common(n),
  ...{ dispatched: n % 2 === 0, status: at(shortTexts, n), name: at(names, n) },
  ...(n % 2 === 0 && { sector: at(texts, n), reason: at(texts, n + 1) }),
}))

const projects: ProjectDocument[] = many(ids.length + names.length, (n) => ({
  ...common(n),
  name: at(names, n),
  ...(n % 2 === 0 && { createdBy: at(ids, n), modifiedBy: 'nobody' }),
}))

const attachments = [null, true, 0.5, '', emoji, [], {}, [[], [{}]], noon, nested(DEPTH)]

const dispatches: DispatchDocument[] = many(ids.length + names.length, (n) => ({
  ...common(n),
  recipients: {
    // Some are named twice, and some do not exist.
    agents: n === 0 ? agents.map(({ _id }) => _id) : n % 2 === 0 ? [at(ids, n), at(ids, n), 'nobody'] : [],
    agentGroups: n === 0 ? many(RECIPIENTS, (group) => `group-${group}`) : n % 3 === 0 ? ids.slice(0, 3) : [],
  },
  dispatchType: at(['basic', 'prefilled', 'hybrid', 'survey'] as const, n),
  status: at(['draft', 'supended', 'dispatched', 'completed'] as const, n),
  name: at(names, n),
  ...(n % 2 === 0 && {
    instructions: { instructions: at(texts, n), attachments: n % 4 === 0 ? attachments : [] },
    ...{ startDate: at(dates, 0), dueDate: at(dates, n), form: at(ids, n), project: at(ids, 0) },
    ...{ totalExpectedEntries: at(numbers, n), createdBy: at(ids, n), modifiedBy: 'nobody' },
  }),
}))

const strange: EntryDocument[] = many(ids.length + texts.length, (n) => ({
  ...common(n),
  status: at(shortTexts, n),
  ...(n % 2 === 0 && {
    ...{ dispatch: at(ids, n), form: at(ids, n), project: at(ids, n), agent: at(ids, n), duration: at(numbers, n) },
    location: { address: at(texts, n), city: at(texts, n + 1), coordinates: { longitude: -180, lattitude: 90 } },
  }),
  ...(n % 4 === 1 && { location: {} }),
  answers: [
    [],
    [{ type: '', question: '' }],
    [{ type: 'multiChoice', question: at(texts, n), answer: [] }],
    many(n === 3 ? ANSWERS : 3, () => ({ type: 'multiChoice', question: at(shortTexts, n), answer: shortTexts })),
  ][n % 4] as EntryDocument['answers'],
}))

const sameInstant: EntryDocument[] = many(SAME_INSTANT, (n) => ({
  ...{
    _id: `same-${String(n).padStart(4, '0')}`,
    organisation,
    status: 'accepted',
    duration: 0,
    answers: [],
    ...dated,
  },
}))

export function* worstCaseData(): Generator<Batch> {
  yield* batches('organisations', [{ _id: organisation, name: 'Ẁorst cäse مؤسسة 👩🏽', ...dated }])
  yield* batches('users', users)
  yield* batches('agents', agents)
  yield* batches('forms', forms)
  yield* batches('projects', projects)
  yield* batches('dispatches', dispatches)
  yield* batches('entries', [...strange, ...sameInstant])
}
