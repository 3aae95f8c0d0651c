// A sample record of each collection that the command `load` accepts. The records refer to each other, and the collections
// are in an order in which every reference exists when it is loaded.
import { KindGuard, type TSchema } from '@sinclair/typebox'
import { type CollectionName, collections, type Documents } from '../documents/collections.js'

/** A record as a line of a file has it, but with dates, which JSON.stringify() turns into ISO 8601 strings. */
type Sample<C extends CollectionName> = { id: string } & Omit<Documents[C], '_id' | 'organisation'>

type Loadable = Exclude<CollectionName, 'organisations' | 'apiKeys' | 'seeds'>

const dated = { createdAt: new Date('2025-03-14T09:00:00Z'), updatedAt: new Date('2025-03-14T09:26:53.589Z') }

const samples: { readonly [C in Loadable]: Sample<C> } = {
  users: {
    id: 'user-1',
    role: { name: 'Administrator' },
    status: 'active',
    firstName: 'Amina',
    lastName: 'Bello',
    email: 'amina@example.org',
    ...dated,
    lastLogin: dated.updatedAt,
  },
  agents: {
    id: 'agent-1',
    status: 'active',
    firstName: 'Chidi',
    lastName: 'Okafor',
    email: 'chidi@example.org',
    phone: '+2348030000000',
    location: [{ country: 'Nigeria', zone: 'North West', state: 'Kano', city: 'Kano' }],
    ...dated,
    lastLogin: dated.updatedAt,
  },
  forms: {
    id: 'form-1',
    dispatched: true,
    status: 'active',
    name: 'Water points',
    sector: 'Water',
    reason: 'Baseline',
    ...dated,
  },
  projects: { id: 'project-1', name: 'Rural water', createdBy: 'user-1', modifiedBy: 'user-1', ...dated },
  dispatches: {
    id: 'dispatch-1',
    instructions: { instructions: 'Visit each well', attachments: ['https://files.example.org/map.pdf'] },
    recipients: { agents: ['agent-1'], agentGroups: ['group-1'] },
    dispatchType: 'survey',
    status: 'dispatched',
    name: 'March round',
    startDate: dated.createdAt,
    dueDate: new Date('2025-03-31T17:00:00Z'),
    form: 'form-1',
    project: 'project-1',
    totalExpectedEntries: 10,
    createdBy: 'user-1',
    modifiedBy: 'user-1',
    ...dated,
  },
  entries: {
    id: 'entry-1',
    status: 'accepted',
    dispatch: 'dispatch-1',
    form: 'form-1',
    project: 'project-1',
    agent: 'agent-1',
    location: {
      address: '12 Zoo Road',
      country: 'Nigeria',
      state: 'Kano',
      lga: 'Tarauni',
      city: 'Kano',
      coordinates: { longitude: 8.5387, lattitude: 11.9805 },
    },
    answers: [{ type: 'multiChoice', question: 'What is the water used for?', answer: ['Drinking', 'Washing'] }],
    duration: 632,
    ...dated,
  },
}

export const loadable = Object.keys(samples) as Loadable[]

/** Describes each collection: its fields as the stored schema has them, and the sample as a line of a file. */
export const describeCollections = (): string =>
  loadable
    .flatMap((name) => {
      const { _id, organisation, ...properties } = collections[name].schema.properties
      const fields = Object.entries<TSchema>({ id: _id, ...properties })
      const namesOf = (isOptional: boolean) =>
        fields
          .filter(([, schema]) => KindGuard.IsOptional(schema) === isOptional)
          .map(([field]) => field)
          .join(', ')
      return [
        name,
        `  required: ${namesOf(false)}`,
        `  optional: ${namesOf(true)}`,
        `  ${JSON.stringify(samples[name])}`,
      ]
    })
    .join('\n')
