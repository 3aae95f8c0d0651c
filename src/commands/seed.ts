// The command `seed`: writes demo data in constant memory. If it is interrupted, it can be run again. It refuses to
// write to a database that holds other data.
import { Presets, SingleBar } from 'cli-progress'
import { type Batch, demoOptions, type SeedOptions, seedData } from '../../seed/index.js'
import { type CollectionName, collections } from '../documents/collections.js'
import { keysOf } from '../keys/keys.js'
import type { Store } from '../store/store.js'
import { action, CommandError, type MakeCommand, printResult, type Terminal, UsageError } from './run-command.js'

/** How many batches are written at the same time. */
const CONCURRENT_INSERTS = 3

export const seedCommand: MakeCommand = ({ out, err, onStore }) =>
  action('seed', 'Write demo data and print a key for each organisation', 'seed --dispatches 200 --entries 100000')
    .option('--organisations <N>', 'how many organisations', integer('organisations', 1), demoOptions.organisations)
    .option('--dispatches <N>', 'how many dispatches in all of them', integer('dispatches', 0), demoOptions.dispatches)
    .option('--entries <N>', 'how many entries in all of them', integer('entries', 0), demoOptions.entries)
    .option('--seed <N>', 'another number gives other data', integer('seed', 0), demoOptions.seed)
    .option('--force', 'write even if the database holds other data')
    .option('--json', 'print the keys as JSON')
    .addHelpText('after', '\nThe same numbers give the same data, and running it again adds what is missing.')
    .action(({ force = false, json = false, ...options }) => {
      if (options.entries > 0 && options.dispatches < options.organisations) {
        throw new UsageError('--entries needs at least one dispatch for each organisation')
      }
      return onStore((store) => seed(store, options, { force, json }, { out, err }))
    })

const integer =
  (name: keyof SeedOptions, least: number) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
    throw new UsageError(`--${name} ${text} must be an integer from ${least} to 999999999`)
  }

const seed = async (
  store: Store,
  options: SeedOptions,
  { force, json }: { force: boolean; json: boolean },
  { out, err }: Terminal,
): Promise<void> => {
  await claim(store, options, force)
  const organisations = await write(store, options, err)
  // Indexes are built faster from documents that exist than with each of them.
  await store.ensureIndexes({ keepExpiry: true })
  const keys = keysOf(store, () => {})
  const issued: { organisation: string; name: string; key: string }[] = []
  for (const { _id, name } of organisations) {
    issued.push({ organisation: _id, name, key: await keys.issue({ organisation: _id, name: 'Seed' }) })
  }
  const lines = issued.map(({ organisation, name, key }) => `${key}  ${organisation}  ${name}`)
  printResult(out, json, issued, lines)
}

/** Records in the database that it holds this demo data, or fails if it holds anything else. */
const claim = async (store: Store, { seed, organisations, dispatches, entries }: SeedOptions, force: boolean) => {
  const _id = [seed, organisations, dispatches, entries].join('-')
  const isClaimed = async () => (await store.dangerouslyFind('seeds', _id)) !== undefined
  if (await isClaimed()) return
  // A second check, because another run of the same seed may have claimed the database in the meantime.
  if (!force && !(await isEmpty(store)) && !(await isClaimed())) {
    throw new CommandError(
      'The database holds other data: name another one in MONGODB_URI, or use --force to write to it',
    )
  }
  await store.insert('seeds', [{ _id, createdAt: new Date() }], { skipTaken: true })
}

const isEmpty = async (store: Store): Promise<boolean> => {
  for (const name of Object.keys(collections) as CollectionName[]) {
    if ((await store.dangerouslyFindAll(name, {}, 1)).length > 0) return false
  }
  return true
}

/** Writes all batches and returns the organisations among them. */
const write = async (store: Store, options: SeedOptions, stream: NodeJS.WritableStream) => {
  const bar = new SingleBar(
    {
      format: 'Entries [{bar}] {percentage}% | {value} of {total} | {rate} a second | {eta_formatted} left',
      stream,
      noTTYOutput: true,
      notTTYSchedule: 2000,
      etaBuffer: 50,
    },
    Presets.legacy,
  )
  const start = Date.now()
  const organisations: Extract<Batch, { collection: 'organisations' }>['documents'] = []
  const pending = new Set<Promise<void>>()
  let written = 0
  bar.start(options.entries, 0, { rate: 0 })
  try {
    for (const batch of seedData(options)) {
      if (batch.collection === 'organisations') organisations.push(...batch.documents)
      const insert = store.insert(batch.collection, batch.documents, { skipTaken: true }).then(() => {
        pending.delete(insert)
        if (batch.collection !== 'entries') return
        written += batch.documents.length
        bar.update(written, { rate: Math.round((written * 1000) / (Date.now() - start + 1)) })
      })
      pending.add(insert)
      if (pending.size === CONCURRENT_INSERTS) await Promise.race(pending)
    }
    await Promise.all(pending)
  } finally {
    bar.stop()
    await Promise.allSettled(pending)
  }
  return organisations
}
