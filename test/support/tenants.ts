// Two organisations with a few documents, written by hand. Some documents of A refer to documents of B, which valid data
// never do: tests use them to show that nothing of B is served to A.
import type { Documents } from '../../src/core/documents/collections.js'
import type { Store } from '../../src/core/store/store.js'

const day = (number: number) => new Date(Date.UTC(2025, 0, number, 8, 30, 15, 250))

const dated = { createdAt: day(1), updatedAt: day(2) }

/** The documents of an organisation. Every id ends with its letter. */
export const tenant = (organisation: string, letter: string) => {
  const id = (name: string) => `${name}-${letter}`
  const user = {
    _id: id('user'),
    organisation,
    role: { name: 'Administrator' },
    status: 'active',
    firstName: 'Amina',
    lastName: `Bello ${letter}`,
    email: `amina@${letter}.example.org`,
    ...dated,
    lastLogin: day(3),
  }
  const agent = (number: number) => ({
    _id: id(`agent${number}`),
    organisation,
    status: 'active',
    firstName: 'Chidi',
    lastName: `Ọkáfọ̀ ${letter}`,
    email: `chidi${number}@${letter}.example.org`,
    phone: '+2348030000000',
    location: [{ country: 'Nigeria', zone: 'North West', state: 'Kano', city: 'Kano' }],
    ...dated,
    lastLogin: day(4),
  })
  const form = {
    _id: id('form'),
    organisation,
    dispatched: true,
    status: 'active',
    name: `Water ${letter}`,
    sector: 'Water',
    reason: 'Baseline',
    ...dated,
  }
  const project = (number: number) => ({
    _id: id(`project${number}`),
    organisation,
    name: `Project ${number}`,
    createdBy: user._id,
    modifiedBy: user._id,
    ...dated,
  })
  const dispatch = (number: number, changes: Partial<Documents['dispatches']> = {}): Documents['dispatches'] => ({
    _id: id(`dispatch${number}`),
    organisation,
    instructions: { instructions: 'Ask kindly', attachments: ['https://files.example.org/map.pdf'] },
    recipients: { agents: [id('agent2'), id('agent1')], agentGroups: [id('group')] },
    dispatchType: 'survey',
    status: 'dispatched',
    name: `Dispatch ${number}`,
    startDate: day(5),
    dueDate: day(6),
    form: form._id,
    project: id('project1'),
    totalExpectedEntries: 10,
    createdBy: user._id,
    modifiedBy: user._id,
    ...dated,
    ...changes,
  })
  const entry = (number: number, changes: Partial<Documents['entries']> = {}): Documents['entries'] => ({
    _id: id(`entry${number}`),
    organisation,
    status: 'accepted',
    dispatch: id('dispatch1'),
    form: form._id,
    project: id('project1'),
    agent: id('agent1'),
    location: {
      address: '12 Zoo Road',
      country: 'Nigeria',
      state: 'Kano',
      lga: 'Tarauni',
      city: 'Kano',
      coordinates: { longitude: 8.5387, lattitude: 11.9805 },
    },
    answers: [
      { type: 'singleChoice', question: 'Source?', answer: 'Borehole' },
      { type: 'multiChoice', question: 'Uses?', answer: ['Drinking', 'Washing'] },
    ],
    duration: 100 + number,
    ...dated,
    ...changes,
  })
  return { user, agent, form, project, dispatch, entry }
}

export const A = 'org-a'
export const B = 'org-b'
export const a = tenant(A, 'a')
export const b = tenant(B, 'b')

/** Documents of A that refer to documents of B. */
export const stolen = {
  dispatch: a.dispatch(9, {
    name: 'Stolen',
    recipients: { agents: [b.agent(1)._id, a.agent(1)._id], agentGroups: [] },
    form: b.form._id,
    project: b.project(1)._id,
    createdBy: b.user._id,
    modifiedBy: b.user._id,
  }),
  project: { ...a.project(9), createdBy: b.user._id, modifiedBy: b.user._id },
  entry: a.entry(9, {
    dispatch: b.dispatch(1)._id,
    form: b.form._id,
    project: b.project(1)._id,
    agent: b.agent(1)._id,
  }),
}
/** A dispatch of B that names a project of A. */
export const intruder = b.dispatch(8, { name: 'Intruder', project: a.project(1)._id })

export const fillTenants = async (store: Store): Promise<void> => {
  await store.insert('organisations', [
    { _id: A, name: 'Organisation A', ...dated },
    { _id: B, name: 'Organisation B', ...dated },
  ])
  await store.insert('users', [a.user, b.user])
  await store.insert('agents', [a.agent(1), a.agent(2), b.agent(1), b.agent(2)])
  await store.insert('forms', [a.form, b.form])
  await store.insert('projects', [a.project(1), a.project(2), b.project(1), stolen.project])
  await store.insert('dispatches', [
    a.dispatch(1),
    a.dispatch(2, { dispatchType: 'basic', status: 'supended', createdAt: day(9), project: a.project(2)._id }),
    a.dispatch(3, { dispatchType: 'hybrid', status: 'draft', recipients: { agents: [], agentGroups: [] } }),
    b.dispatch(1),
    stolen.dispatch,
    intruder,
  ])
  await store.insert('entries', [
    a.entry(1),
    a.entry(2, { status: 'rejected', createdAt: day(8), updatedAt: day(9), dispatch: a.dispatch(2)._id }),
    a.entry(3, { agent: a.agent(2)._id }),
    b.entry(1),
    stolen.entry,
  ])
}
