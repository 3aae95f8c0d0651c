// The scenario `campaign`: many projects and dispatches, whose recipients have all kinds of statuses.
import type { ProjectDocument } from '../src/core/documents/collections.js'
import { makeAgents } from './agents.js'
import { makeDispatches } from './dispatches.js'
import { makeEntries } from './entries.js'
import { makeForms } from './forms.js'
import { createId } from './ids.js'
import { type Batch, documentsOf, tenantBatches } from './index.js'
import { makeTenant } from './organisations.js'
import { places } from './places.js'
import { makeProjects } from './projects.js'
import { makeUsers } from './users.js'

const DISPATCHES = 400
const ENTRIES = 500

/** The contract shows `active` and allows any word. */
const statuses = ['active', 'invited', 'inactive', 'active', 'suspended', 'archived', 'active']

export function* campaignData(seed: number): Generator<Batch> {
  const tenant = makeTenant(seed, 0)
  const users = makeUsers(tenant)
  const agents = makeAgents(tenant, DISPATCHES).map((agent, n) => ({
    ...agent,
    document: { ...agent.document, status: statuses[n % statuses.length] as string },
  }))
  const forms = makeForms(tenant, DISPATCHES)
  // One project for each place, on the day of the last one.
  const { createdAt, updatedAt, ...by } = makeProjects(tenant, users, DISPATCHES).at(-1) as ProjectDocument
  const projects = places.map(({ city, state }, n) => ({
    ...by,
    ...{ _id: createId(createdAt, tenant.number, 'projects', n), name: `Clean water for ${city}, ${state}` },
    ...{ createdAt, updatedAt },
  }))
  const all = agents.map(({ document }) => document._id)
  const dispatches = makeDispatches(tenant, DISPATCHES, ENTRIES, { users, agents, forms, projects }).map(
    (dispatch, n) => {
      // A few dispatches go to everybody, and a few to nobody.
      const recipients = n % 100 === 1 ? { agents: all, agentGroups: [] } : { agents: [], agentGroups: [] }
      return n % 50 === 1
        ? { ...dispatch, answered: n % 100 === 1, document: { ...dispatch.document, recipients } }
        : dispatch
    },
  )

  yield* tenantBatches(tenant, {
    users,
    agents: documentsOf(agents),
    forms: documentsOf(forms),
    projects,
    dispatches: documentsOf(dispatches),
    entries: makeEntries(tenant, ENTRIES, dispatches),
  })
}
