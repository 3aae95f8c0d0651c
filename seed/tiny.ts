// The scenario `tiny`: an organisation with a dozen records, which a person can read at a glance. The last record of each
// collection is the sample in the help of the command `load`: it has every field, and refers only to other samples.
import type { Batch } from './index.js'

const organisation = 'tiny'
const on = (day: string, time = '09:00') => new Date(`2025-06-${day}T${time}:00.000Z`)
const dated = (day: string) => ({ createdAt: on(day), updatedAt: on(day) })
const by = { createdBy: 'user-1', modifiedBy: 'user-1' }

const agent = (n: number, firstName: string, lastName: string, city: string) => ({
  ...{ _id: `agent-${n}`, organisation, status: 'active', firstName, lastName },
  ...{ email: `${firstName.toLowerCase()}@example.org`, phone: `+23480000000${n}0` },
  location: [{ country: 'Nigeria', zone: 'North West', state: 'Kano', city }],
  ...dated('02'),
  lastLogin: on('30'),
})

const entry = (n: number, dispatch: number, agent: number, status: string, well: string, uses: string[]) => ({
  ...{
    _id: `entry-${n}`,
    organisation,
    status,
    dispatch: `dispatch-${dispatch}`,
    form: 'form-1',
    project: 'project-1',
  },
  agent: `agent-${agent}`,
  location: {
    ...{ address: `${n} Zoo Road`, country: 'Nigeria', state: 'Kano', lga: 'Tarauni', city: 'Kano' },
    coordinates: { longitude: 8.54, lattitude: 11.98 },
  },
  answers: [
    { type: 'singleChoice', question: 'Does the well work?', answer: well },
    { type: 'multiChoice', question: 'What is the water used for?', answer: uses },
  ],
  duration: 60 * n,
  ...{ createdAt: on(`${25 + n}`), updatedAt: on(`${25 + n}`, '17:00') },
})

export const tinyData = (): Batch[] => [
  { collection: 'organisations', documents: [{ _id: organisation, name: 'Tiny Wells', ...dated('01') }] },
  {
    collection: 'users',
    documents: [
      {
        ...{ _id: 'user-1', organisation, role: { name: 'Administrator' }, status: 'active' },
        ...{ firstName: 'Amina', lastName: 'Bello', email: 'amina@example.org' },
        ...dated('01'),
        lastLogin: on('30'),
      },
    ],
  },
  { collection: 'agents', documents: [agent(1, 'Chidi', 'Okafor', 'Kano'), agent(2, 'Hauwa', 'Sani', 'Wudil')] },
  {
    collection: 'forms',
    documents: [
      {
        ...{ _id: 'form-1', organisation, dispatched: true, status: 'active' },
        ...{ name: 'Wells', sector: 'Water', reason: 'Baseline' },
        ...dated('03'),
      },
    ],
  },
  {
    collection: 'projects',
    documents: [{ _id: 'project-1', organisation, name: 'Rural water', ...by, ...dated('03') }],
  },
  {
    collection: 'dispatches',
    documents: ([1, 2] as const).map((n) => ({
      ...{ _id: `dispatch-${n}`, organisation, name: `Round ${n}`, dispatchType: 'survey' as const },
      instructions: { instructions: 'Visit each well', attachments: ['https://files.example.org/map.pdf'] },
      recipients: { agents: n === 1 ? ['agent-1', 'agent-2'] : ['agent-2'], agentGroups: ['group-1'] },
      status: n === 1 ? ('completed' as const) : ('dispatched' as const),
      ...{ startDate: on(`${10 * n}`), dueDate: on(`${10 * n + 9}`), form: 'form-1', project: 'project-1' },
      ...{ totalExpectedEntries: 3, ...by, ...dated(`0${3 + n}`) },
    })),
  },
  {
    collection: 'entries',
    documents: [
      entry(1, 1, 1, 'accepted', 'Yes', ['Drinking', 'Washing']),
      entry(2, 1, 2, 'accepted', 'No', ['Nothing']),
      entry(3, 1, 1, 'rejected', 'Yes', ['Drinking']),
      entry(4, 2, 2, 'accepted', 'Yes', ['Washing']),
      entry(5, 2, 2, 'pending', 'No', ['Animals', 'Washing']),
    ],
  },
]
