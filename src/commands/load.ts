// The command line that brings in real data: `npm run load -- file.ndjson`. Every line is checked before the first is
// written, so that a file with a bad line leaves the database as it was.
import { parseArgs } from 'node:util'
import { type CollectionName, collections } from '../store/collections.js'
import type { Store } from '../store/store.js'
import { type Line, readLines } from './load-lines.js'
import { type Command, CommandError, required, type Terminal, UsageError } from './run-command.js'

const usage = `Usage:
  npm run load -- FILE.ndjson --collection NAME --organisation ID [--json]

Each line of the file is a JSON object: a document of the collection as src/store/collections.ts describes it, with its
id as "id" or "_id" and instants as ISO 8601 texts. Either all lines are written or none. MONGODB_URI names the database.`

const loadable = ['users', 'agents', 'forms', 'projects', 'dispatches', 'entries'] as const satisfies CollectionName[]

const BATCH = 1000
const SHOWN_FAULTS = 100

const run = async (store: Store, argv: string[], { out, err }: Terminal): Promise<void> => {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      collection: { type: 'string' },
      organisation: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0) throw new UsageError('Name one file')
  const organisation = required('organisation', values.organisation)
  const name = required('collection', values.collection)
  const collection = loadable.find((each) => each === name)
  if (collection === undefined) throw new UsageError(`--collection ${name} must be one of ${loadable.join(', ')}`)

  const lines = () => readLines(file, collections[collection].schema, organisation)
  const { count, faults } = await check(store, collection, lines())
  if (faults.length > 0) {
    for (const { number, fault } of faults.slice(0, SHOWN_FAULTS)) err.write(`line ${number}: ${fault}\n`)
    throw new CommandError(`Nothing was written: ${faults.length} of ${count} lines are bad`)
  }
  for await (const batch of batches(lines())) {
    await store.insert(collection, batch.map(({ document }) => document) as never)
  }
  const written = { collection, organisation, written: count }
  out.write(values.json ? `${JSON.stringify(written)}\n` : `Wrote ${count} to ${collection}\n`)
}

/** Counts the lines and finds the bad ones, among them those whose id stands twice or is taken. */
const check = async (store: Store, collection: CollectionName, lines: AsyncIterable<Line>) => {
  const seen = new Map<unknown, number>()
  const faults: Line[] = []
  let count = 0
  for await (const batch of batches(lines)) {
    count += batch.length
    const found = await store.dangerouslyFindAll(collection, {
      _id: { $in: batch.map(({ document }) => document?._id) },
    })
    const taken = new Set<unknown>(found.map(({ _id }) => _id))
    for (const line of batch) {
      const id = line.document?._id
      if (line.fault !== undefined) faults.push(line)
      else if (taken.has(id)) faults.push({ ...line, fault: `_id: ${id} is taken in ${collection}` })
      else if (seen.has(id)) faults.push({ ...line, fault: `_id: ${id} stands in line ${seen.get(id)} already` })
      else seen.set(id, line.number)
    }
  }
  return { count, faults }
}

async function* batches(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = []
  for await (const line of lines) {
    batch.push(line)
    if (batch.length === BATCH) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

export const loadCommand: Command = { usage, run }
