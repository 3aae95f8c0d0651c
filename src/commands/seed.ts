// The command `seed`: writes demo data in constant memory. It refuses to write to a database that holds other data.
import { setTimeout } from 'node:timers/promises'
import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { Batch } from '../../seed/index.js'
import { demoOptions, scenarioNames, scenarios } from '../../seed/options.js'
import type { ScenarioOptions } from '../../seed/scenarios.js'
import { collectionNames, type OrganisationDocument } from '../core/documents/collections.js'
import { keyIdOf } from '../core/keys/format.js'
import { keysOf } from '../core/keys/keys.js'
import { allEnded } from '../core/limits/work.js'
import type { Store } from '../core/store/store.js'
import { isDay } from '../core/validation/instant.js'
import { BY, matching } from './arguments.js'
import { CommandError, type MakeCommand, newCommand, type Session } from './run-command.js'

const WRITERS = 3

const example = 'seed --scenario campaign --until today --live 5/s'
const details = `
The scenarios are:

${Object.entries(scenarios)
  .map(([name, what]) => `  ${name.padEnd(10)}  ${what}`)
  .join('\n')}

The same options give the same data, and running it again adds what is missing.
--seed makes no difference to tiny and worst-case, and worst-case has no
--until. --live adds, changes and deletes records until it is interrupted, to
try a copy of the data against. Each run does the same in the same order: first
it adds again what is missing, then it begins anew.`

const inAll = 'of the scenario demo in all organisations'

export const seedCommand: MakeCommand = ({ result, tell, audit, counting, open, stopped }) =>
  newCommand('seed', 'Write demo data and print a key for each organisation', example, details)
    .addOption(new Option('--scenario <NAME>', 'which data').choices(scenarioNames).default('demo' as const))
    .option('--organisations <N>', `of the scenario demo, by default ${demoOptions.organisations}`, integer(1))
    .option('--dispatches <N>', `${inAll}, by default ${demoOptions.dispatches}`, integer(0))
    .option('--entries <N>', `${inAll}, by default ${demoOptions.entries}`, integer(0))
    .option('--seed <N>', 'another number gives other data', integer(0), demoOptions.seed)
    .option('--until <DAY>', 'the last day of the data, such as 2026-03-14, or today', day)
    .option('--live <RATE>', 'go on with so many operations a second, such as 5/s', perSecond)
    .option('--force', 'write even if the database holds other data')
    .option(...BY)
    .action(async ({ live, force = false, by, ...given }, command) => {
      const options = { ...demoOptions, ...given }
      const size = (['organisations', 'dispatches', 'entries'] as const).find((name) => given[name] !== undefined)
      if (options.scenario !== 'demo' && size !== undefined)
        command.error(`error: --${size} is for the scenario demo alone`)
      if (options.scenario === 'worst-case' && options.until !== undefined)
        command.error('error: --until is not for the scenario worst-case, whose dates are at the edges')
      if (options.entries > 0 && options.dispatches < options.organisations)
        command.error('error: --entries needs at least one dispatch for each organisation')
      const store = open()
      // The data takes long to load, and only this command needs it.
      const { scenarioData } = await import('../../seed/scenarios.js')
      const now = new Date()
      const data = () => scenarioData({ ...options, now })
      await claim(store, options, force)
      const added = (organisation: string) => audit('organisations add', by, { organisation })
      const organisations = await counting((count) => write(store, data(), added, count))
      // Indexes are built faster from documents that exist than with each of them.
      tell(...(await store.ensureIndexes({ keepExpiry: true })))
      const keys = keysOf(store, () => {})
      const issued: { organisation: string; name: string; key: string }[] = []
      for (const { _id: organisation, name } of organisations) {
        const key = await keys.issue({ organisation, name: 'Seed', issuedBy: by })
        issued.push({ organisation, name, key })
        audit('keys issue', by, { keyId: keyIdOf(key), organisation })
      }
      const lines = issued.map(({ organisation, name, key }) => `${key}  ${organisation}  ${name}`)
      result(issued, lines)
      if (live !== undefined) await grow(store, data(), { seed: options.seed, perSecond: live }, tell, stopped())
    })

const integer = (least: 0 | 1) =>
  matching(least === 0 ? /^\d{1,9}$/ : /^[1-9]\d{0,8}$/, `it must be an integer from ${least} to 999999999`, Number)

/** Reads --until. The ids of the data can only tell seconds of these years. */
const day = (text: string): Date => {
  const named = text === 'today' ? new Date().toISOString().slice(0, 10) : text
  if (/^20\d\d-/.test(named) && isDay(named)) return new Date(`${named}T00:00:00Z`)
  throw new InvalidArgumentError('it must be today or a day from 2000-01-01 to 2099-12-31')
}

const perSecond = matching(/^([1-9]\d{0,2}|1000)\/s$/, 'it must be a rate from 1/s to 1000/s', Number.parseInt)

/** Records in the database that it holds this demo data, or fails if it holds anything else. */
const claim = async (store: Store, options: ScenarioOptions, force: boolean) => {
  const { scenario, seed, organisations, dispatches, entries, until } = options
  const lastDay = until === undefined ? [] : ['until', until.toISOString().slice(0, 10)]
  const _id = [scenario, seed, organisations, dispatches, entries, ...lastDay].join('-')
  const isFree = force || (await isEmpty(store))
  // Read afterwards: another run of the same seed may have claimed the database and begun to write meanwhile.
  const isClaimed = (await store.dangerouslyFindAll('seeds', { _id })).length > 0
  if (!isFree && !isClaimed) {
    throw new CommandError(
      'The database holds other data, or this data up to another day: name another one in MONGODB_URI, or use --force to write to it',
    )
  }
  await store.insert('seeds', [{ _id, createdAt: new Date() }], { skipTaken: true })
}

const isEmpty = async (store: Store): Promise<boolean> => {
  for (const name of collectionNames) if ((await store.dangerouslyFindAll(name, {}, 1)).length > 0) return false
  return true
}

/** Writes what is missing of all batches, and returns the organisations among them. */
const write = async (
  store: Store,
  data: Generator<Batch>,
  onAdded: (organisation: string) => void,
  count: (more: number) => void,
): Promise<OrganisationDocument[]> => {
  const organisations: OrganisationDocument[] = []
  const add = async (organisation: OrganisationDocument) => {
    organisations.push(organisation)
    const { _id } = organisation
    const isNew = (await store.dangerouslyFind('organisations', _id)) === undefined
    await store.insert('organisations', [organisation], { skipTaken: true })
    if (isNew) onAdded(_id)
  }
  // All writers take their batches from the same generator, and an error of one of them ends it.
  const writer = async () => {
    for (const { collection, documents } of data) {
      if (collection === 'organisations') for (const organisation of documents) await add(organisation)
      else {
        await store.insert(collection, documents, { skipTaken: true })
        count(documents.length)
      }
    }
  }
  await allEnded(Array.from({ length: WRITERS }, writer))
  return organisations
}

const grow = async (
  store: Store,
  data: Iterable<Batch>,
  { seed, perSecond }: { seed: number; perSecond: number },
  tell: Session['tell'],
  signal: AbortSignal,
): Promise<void> => {
  const { liveOperations } = await import('../../seed/live.js')
  const next = liveOperations(data, seed, () => new Date())
  const counts = { add: 0, change: 0, delete: 0 }
  const start = Date.now()
  for (let n = 1; ; n++) {
    const wait = Math.max(0, start + (n * 1000) / perSecond - Date.now())
    await setTimeout(wait, undefined, { signal }).catch(() => {})
    if (signal.aborted) break
    const { kind, collection, document } = next()
    if (kind === 'delete') await store.remove(collection, document.organisation, [document._id])
    else await store.upsert(collection, [document as never])
    counts[kind] += 1
  }
  tell(`Added ${counts.add}, changed ${counts.change}, deleted ${counts.delete}`)
}
