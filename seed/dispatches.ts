// The dispatches of an organisation, spread over the whole period of the data. They refer only to the documents of the same
// organisation that are passed in.
import { type dispatchStatuses, dispatchTypes } from '../schemas/dispatches.js'
import type { DispatchDocument, ProjectDocument, UserDocument } from '../src/core/documents/collections.js'
import type { Agent } from './agents.js'
import type { Form } from './forms.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { integer, pick } from './random.js'
import type { Survey } from './surveys.js'
import { after, DAY, FROM, moment, UNTIL } from './timeline.js'

/** A dispatch and what its entries need. */
export interface Dispatch {
  document: DispatchDocument
  agents: readonly Agent[]
  survey: Survey
  /** Whether agents submit entries for it. */
  answered: boolean
  opens: number
  closes: number
}

/** The documents that dispatches refer to. */
export interface Resources {
  users: readonly UserDocument[]
  agents: readonly Agent[]
  forms: readonly Form[]
  projects: readonly ProjectDocument[]
}

/** There are seven, four types and nine forms. No two of these numbers share a factor, so every pair occurs. */
const statuses: readonly (typeof dispatchStatuses)[number][] = [
  'completed',
  'dispatched',
  'draft',
  'supended',
  'dispatched',
  'completed',
  'completed',
]

const texts = [
  'Visit each household in the morning and speak with the head of the household or the spouse.',
  'Ask for consent before the first question. Stop at once if it is withdrawn. 🙏',
  'Bring your badge and the letter of introduction 📄 and greet the village head first.',
  'Take the coordinates at the front door, not in the car 📍.',
  'Count only what you see yourself ✅. Leave out what you are merely told ❌.',
  'Synchronise every evening while the network is good 📶.',
  'Two visits at the most; then go to the next address on the list.',
  'Interview in the language that the respondent prefers: Hausa, Igbo, Yorùbá, Fulfulde or English.',
]

/** The dispatches of an organisation. */
export function makeDispatches(
  { number, random, document }: Tenant,
  count: number,
  entries: number,
  { users, agents, forms, projects }: Resources,
): Dispatch[] {
  const slot = (UNTIL - FROM) / count
  const groupsSince = moment(random, 30, 1, 0, 1)
  const agentGroups = [0, 1, 2].map((n) => createId(groupsSince, number, 'agentGroups', n))

  return Array.from({ length: count }, (_, n) => {
    const createdAt = new Date(Math.floor(FROM - 10 * DAY + n * slot + random() * Math.min(slot, DAY)))
    const startDate = after(random, new Date(createdAt.getTime() + DAY), 7)
    const dueDate = new Date(
      Math.min(UNTIL + 30 * DAY, startDate.getTime() + Math.floor(Math.max(60 * DAY, 4 * slot) * (1 + random() / 2))),
    )
    const status = statuses[n % statuses.length] as DispatchDocument['status']

    // The last dispatch has the same name as the first.
    const turn = n === count - 1 ? 0 : n
    const { document: form, survey } = forms[turn % (forms.length - 1)] as Form
    const round = 1 + Math.floor(turn / (forms.length - 1))
    const title = round % 2 === 0 ? (survey.nameAbroad ?? survey.name) : survey.name

    // A few agents receive many dispatches.
    const recipients = new Set([pick(random, agents.slice(0, 3))])
    for (let more = integer(random, 2, 12); more > 0; more--) recipients.add(pick(random, agents))

    return {
      document: {
        _id: createId(createdAt, number, 'dispatches', n),
        organisation: document._id,
        instructions: {
          instructions: pick(random, texts),
          attachments: n % 6 === 4 ? [`https://files.example.org/instructions/${number}/${n}.pdf`] : [],
        },
        recipients: {
          agents: Array.from(recipients, (agent) => agent.document._id),
          agentGroups: n % 5 === 3 ? agentGroups.slice(n % 3) : [],
        },
        dispatchType: dispatchTypes[n % dispatchTypes.length] as DispatchDocument['dispatchType'],
        status,
        name: `${title} ${round}`,
        startDate,
        dueDate,
        form: form._id,
        project: pick(random, projects.slice(0, -1))._id, // the last project has no dispatches
        totalExpectedEntries: Math.max(10, Math.ceil(((entries / count) * (2.5 + random())) / 10) * 10),
        createdBy: pick(random, users)._id,
        modifiedBy: pick(random, users)._id,
        createdAt,
        updatedAt: status === 'completed' ? dueDate : after(random, createdAt, 20),
      },
      agents: [...recipients],
      survey,
      answered: status !== 'draft' && n % 8 !== 3,
      opens: startDate.getTime(),
      closes: dueDate.getTime(),
    }
  })
}
