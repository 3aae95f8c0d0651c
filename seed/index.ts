// The scenario `demo`, at any size. It generates data in batches that are ready to be stored. The same options give the
// same bytes on every machine, so nothing here may read the clock, the time zone or the locale. API keys are not generated here.
import type { CollectionName, Documents } from '../src/core/documents/collections.js'
import { makeAgents } from './agents.js'
import { makeDispatches } from './dispatches.js'
import { makeEntries } from './entries.js'
import { makeForms } from './forms.js'
import { demoOptions, type SeedOptions } from './options.js'
import { makeTenant, type Tenant } from './organisations.js'
import { makeProjects } from './projects.js'
import { makeUsers } from './users.js'

export { demoOptions, type SeedOptions }

type SeededName = Exclude<CollectionName, 'apiKeys' | 'seeds'>

interface BatchOf<C extends SeededName> {
  collection: C
  documents: Documents[C][]
}

/** Documents of one collection: at least one, and at most BATCH_SIZE. */
export type Batch = { [C in SeededName]: BatchOf<C> }[SeededName]

/** The maximum number of documents in a batch. */
export const BATCH_SIZE = 1000

/** The documents of a collection in batches. */
export function* batches<C extends SeededName>(
  collection: C,
  documents: Iterable<Documents[C]>,
): Generator<BatchOf<C>> {
  let batch: Documents[C][] = []
  for (const document of documents) {
    batch.push(document)
    if (batch.length === BATCH_SIZE) {
      yield { collection, documents: batch }
      batch = []
    }
  }
  if (batch.length > 0) yield { collection, documents: batch }
}

type TenantData = { readonly [C in Exclude<SeededName, 'organisations'>]: Iterable<Documents[C]> }

/** An organisation and its data in batches. Documents come before those that refer to them. */
export function* tenantBatches({ document }: Tenant, data: TenantData): Generator<Batch> {
  yield* batches('organisations', [document])
  yield* batches('users', data.users)
  yield* batches('agents', data.agents)
  yield* batches('forms', data.forms)
  yield* batches('projects', data.projects)
  yield* batches('dispatches', data.dispatches)
  yield* batches('entries', data.entries)
}

export const documentsOf = <T>(made: readonly { document: T }[]): T[] => made.map(({ document }) => document)

/**
 * Generates the data of one organisation after the other. Entries are
 * generated on demand, so their number does not affect memory.
 * @throws RangeError if there are entries, but an organisation has no dispatch for them
 */
export function* seedData(options: SeedOptions): Generator<Batch> {
  const { seed, organisations } = options
  if (options.entries > 0 && options.dispatches < organisations) {
    throw new RangeError('Entries need at least one dispatch in each organisation')
  }
  for (let number = 0; number < organisations; number++) {
    const share = (total: number) =>
      Math.floor((total * (number + 1)) / organisations) - Math.floor((total * number) / organisations)
    const dispatchCount = share(options.dispatches)
    const entryCount = share(options.entries)

    const tenant = makeTenant(seed, number)
    const users = makeUsers(tenant)
    const agents = makeAgents(tenant, dispatchCount)
    const forms = makeForms(tenant, dispatchCount)
    const projects = makeProjects(tenant, users, dispatchCount)
    const dispatches = makeDispatches(tenant, dispatchCount, entryCount, { users, agents, forms, projects })

    yield* tenantBatches(tenant, {
      users,
      agents: documentsOf(agents),
      forms: documentsOf(forms),
      projects,
      dispatches: documentsOf(dispatches),
      entries: makeEntries(tenant, entryCount, dispatches),
    })
  }
}
