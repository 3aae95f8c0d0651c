// The command line of the seed: `npm run seed`. It writes demo data into the database of MONGODB_URI, in constant memory
// and so that it may be broken off and run again; it keeps its hands off a database with other data.
import { parseArgs } from 'node:util'
import { Presets, SingleBar } from 'cli-progress'
import { type Batch, demoOptions, type SeedOptions, seedData } from '../../seed/index.js'
import { type CollectionName, collections } from '../documents/collections.js'
import { keysOf } from '../keys/keys.js'
import type { Store } from '../store/store.js'
import { type Command, CommandError, print, type Terminal, UsageError } from './run-command.js'

const usage = `Usage:
  npm run seed -- [--organisations 2] [--dispatches 48] [--entries 3000] [--seed 42] [--force] [--json]

Dispatches and entries are totals, spread over the organisations. The same numbers give the same data, and running it
again adds what is missing. --force writes into a database that holds other data too. MONGODB_URI names the database.`

/** How many batches are on their way to the database at once. */
const CONCURRENT_INSERTS = 3

const run = async (store: Store, argv: string[], { out, err }: Terminal): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      organisations: { type: 'string' },
      dispatches: { type: 'string' },
      entries: { type: 'string' },
      seed: { type: 'string' },
      force: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const options: SeedOptions = {
    organisations: whole('organisations', values.organisations, 1),
    dispatches: whole('dispatches', values.dispatches, 0),
    entries: whole('entries', values.entries, 0),
    seed: whole('seed', values.seed, 0),
  }
  if (options.entries > 0 && options.dispatches < options.organisations) {
    throw new UsageError('--entries needs at least one dispatch for each organisation')
  }

  await claim(store, options, values.force)
  await store.ensureIndexes()
  const organisations = await write(store, options, err)
  const keys = keysOf(store, () => {})
  const issued: { organisation: string; name: string; key: string }[] = []
  for (const { _id, name } of organisations) {
    issued.push({ organisation: _id, name, key: await keys.issue({ organisation: _id, name: 'Seed' }) })
  }
  const lines = issued.map(({ organisation, name, key }) => `${key}  ${organisation}  ${name}`)
  print(out, ...(values.json ? JSON.stringify(issued, null, 2).split('\n') : lines))
}

const whole = (name: keyof SeedOptions, text: string | undefined, least: number): number => {
  if (text === undefined) return demoOptions[name]
  if (!/^\d{1,9}$/.test(text) || Number(text) < least) {
    throw new UsageError(`--${name} ${text} must be an integer from ${least} to 999999999`)
  }
  return Number(text)
}

/** Notes in the database which seed it holds, unless it holds anything else. */
const claim = async (store: Store, { seed, organisations, dispatches, entries }: SeedOptions, force: boolean) => {
  const _id = [seed, organisations, dispatches, entries].join('-')
  const isNoted = async () => (await store.dangerouslyFind('seeds', _id)) !== undefined
  if (await isNoted()) return
  // A run beside this one may note the same meanwhile.
  if (!force && !(await isEmpty(store)) && !(await isNoted())) {
    throw new CommandError('The database holds other data. Name another in MONGODB_URI, or write into it with --force')
  }
  await store.insert('seeds', [{ _id, createdAt: new Date() }], { skipTaken: true })
}

const isEmpty = async (store: Store): Promise<boolean> => {
  for (const name of Object.keys(collections) as CollectionName[]) {
    if ((await store.dangerouslyFindAll(name, {}, 1)).length > 0) return false
  }
  return true
}

/** Writes all batches and gives the organisations among them. */
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
  const underway = new Set<Promise<void>>()
  let written = 0
  bar.start(options.entries, 0, { rate: 0 })
  try {
    for (const batch of seedData(options)) {
      if (batch.collection === 'organisations') organisations.push(...batch.documents)
      const insert = store.insert(batch.collection, batch.documents, { skipTaken: true }).then(() => {
        underway.delete(insert)
        if (batch.collection !== 'entries') return
        written += batch.documents.length
        bar.update(written, { rate: Math.round((written * 1000) / (Date.now() - start + 1)) })
      })
      underway.add(insert)
      if (underway.size === CONCURRENT_INSERTS) await Promise.race(underway)
    }
    await Promise.all(underway)
  } finally {
    bar.stop()
    await Promise.allSettled(underway)
  }
  return organisations
}

export const seedCommand: Command = { usage, run }
