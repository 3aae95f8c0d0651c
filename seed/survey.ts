// The scenario `survey`: one dispatch of one long form with questions of all types, and a thousand entries.
import type { EntryDocument } from '../src/core/documents/collections.js'
import { makeAgents } from './agents.js'
import { makeDispatches } from './dispatches.js'
import { makeEntries } from './entries.js'
import { type Form, makeForms } from './forms.js'
import { type Batch, documentsOf, tenantBatches } from './index.js'
import { makeTenant } from './organisations.js'
import { makeProjects } from './projects.js'
import type { Random } from './random.js'
import { type Question, type Survey, surveys } from './surveys.js'
import { makeUsers } from './users.js'

const ENTRIES = 1000

const of = (type: string, question: string, ...options: string[]): Question => ({
  ...{ type, question, options },
  none: undefined,
})

/** One question of each type that has no choice. The words are ours: the contract allows any. */
const open = [
  of(
    'text',
    'What would help you most?',
    'A borehole nearby',
    'Ìlera tó dára',
    'مدرسة قريبة',
    'Better roads 🛣️\nand light',
  ),
  // A few write 150 for 15.
  of('number', 'How many people live in the household?', ...Array.from({ length: 15 }, (_, n) => String(n + 1)), '150'),
  of('decimal', 'How large is the plot, in hectares?', '0.5', '1.25', '2.75', '10'),
  of('date', 'When was the house built?', '2019-03-01', '1998-11-30', '2024-02-29'),
  of('time', 'When do you get up?', '05:30', '06:00', '04:45'),
  of('rating', 'How content are you, from 1 to 5?', '4', '3', '5', '2', '1'),
  of('location', 'Where is the well?', '8.5401,11.9802', '8.8412,11.8103'),
  of(
    'photo',
    'Photograph of the well',
    'https://files.example.org/photos/1.jpg',
    'https://files.example.org/photos/2.jpg',
  ),
  of('barcode', 'Code on the card', '5901234123457', '4006381333931'),
]

const survey: Survey = {
  name: 'Living conditions, long form',
  sector: 'Livelihoods',
  reason: 'Census of the region',
  questions: [...open, ...surveys.slice(0, 6).flatMap(({ questions }) => questions)],
}

/** The entries, in which some agents left questions without an answer. */
function* withGaps(random: Random, entries: Iterable<EntryDocument>): Generator<EntryDocument> {
  for (const entry of entries) {
    const answers = entry.answers.map(({ answer, ...asked }) => (random() < 0.05 ? asked : { ...asked, answer }))
    yield { ...entry, answers: answers as EntryDocument['answers'] }
  }
}

export function* surveyData(seed: number): Generator<Batch> {
  const tenant = makeTenant(seed, 0)
  const users = makeUsers(tenant)
  const agents = makeAgents(tenant, 0)
  const { document, ...first } = makeForms(tenant, 1)[0] as Form
  const { questions, ...texts } = survey
  const form: Form = { ...first, document: { ...document, ...texts }, survey }
  const projects = makeProjects(tenant, users, 0)
  const made = makeDispatches(tenant, 1, ENTRIES, { users, agents, forms: [form, form], projects })
  const dispatches = made.map((one) => ({ ...one, document: { ...one.document, dispatchType: 'survey' as const } }))

  yield* tenantBatches(tenant, {
    users,
    agents: documentsOf(agents),
    forms: [form.document],
    projects,
    dispatches: documentsOf(dispatches),
    entries: withGaps(tenant.random, makeEntries(tenant, ENTRIES, dispatches)),
  })
}
