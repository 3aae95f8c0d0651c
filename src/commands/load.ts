// The command line that brings in real data: `npm run load -- file.ndjson`. Every line is checked before the first is
// written, so that a file with a bad line leaves the database as it was. A load that was broken off goes on when it is run
// again: what is there already, just as the file has it, is passed over.
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { type CollectionName, collections } from '../store/collections.js'
import type { Store } from '../store/store.js'
import { type Line, readLines } from './load-lines.js'
import {
  type Command,
  CommandError,
  noteUnknownOrganisation,
  organisationId,
  required,
  type Terminal,
  UsageError,
} from './run-command.js'

const usage = `Usage:
  npm run load -- FILE.ndjson --collection NAME --organisation ID [--json]

Each line of the file is a JSON object: a document of the collection as src/store/collections.ts describes it, with its
id as "id" or "_id" and instants as ISO 8601 texts. If any line is bad, none is written. A load that was broken off goes on
when it is run again. MONGODB_URI names the database.`

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
  const organisation = organisationId(required('organisation', values.organisation))
  const name = required('collection', values.collection)
  const collection = loadable.find((each) => each === name)
  if (collection === undefined) throw new UsageError(`--collection ${name} must be one of ${loadable.join(', ')}`)

  const lines = () => readLines(file, collections[collection].schema, organisation)
  const unreadable = (error: NodeJS.ErrnoException): never => {
    // A line that is longer than any text that V8 can hold is a RangeError.
    if (error.syscall === undefined && !(error instanceof RangeError)) throw error
    throw new CommandError(`${file} cannot be read: ${error.message}`)
  }
  if (!(await stat(file).catch(unreadable)).isFile())
    throw new CommandError(`${file} is no file that can be read twice`)
  const { count, present, faults } = await check(store, collection, lines()).catch(unreadable)
  if (count === 0) throw new CommandError(`${file} has no lines`)
  if (faults.length > 0) {
    for (const { number, fault } of faults.slice(0, SHOWN_FAULTS)) err.write(`line ${number}: ${fault}\n`)
    throw new CommandError(`Nothing was written: ${faults.length} of ${count} lines are bad`)
  }
  let written = 0
  for await (const batch of batches(lines())) {
    const documents = batch.flatMap(({ number, document }) => (present.has(number) ? [] : [document]))
    if (documents.length === 0) continue
    await store.insert(collection, documents as never).catch((error) => {
      const rest = 'Run it again to go on: what is written is passed over'
      throw new CommandError(`Broken off after ${written} of ${count} lines: ${error.message}\n${rest}`)
    })
    written += documents.length
  }
  const result = { collection, organisation, written, present: present.size }
  const besides = present.size === 0 ? '' : `; ${present.size} were there already`
  out.write(values.json ? `${JSON.stringify(result)}\n` : `Wrote ${written} to ${collection}${besides}\n`)
  await noteUnknownOrganisation(store, organisation, err)
}

/** Counts the lines, and finds those that are there already and those that are bad, also because their id is taken. */
const check = async (store: Store, collection: CollectionName, lines: AsyncIterable<Line>) => {
  const seen = new Map<unknown, number>()
  const present = new Set<number>()
  const faults: Line[] = []
  let count = 0
  for await (const batch of batches(lines)) {
    count += batch.length
    const found = await store.dangerouslyFindAll(collection, {
      _id: { $in: batch.map(({ document }) => document?._id) },
    })
    const taken = new Map<unknown, unknown>(found.map((document) => [document._id, document]))
    for (const line of batch) {
      const id = line.document?._id
      if (line.fault !== undefined) faults.push(line)
      else if (seen.has(id)) faults.push({ ...line, fault: `id: ${id} stands in line ${seen.get(id)} already` })
      else if (isDeepStrictEqual(taken.get(id), line.document)) present.add(line.number)
      else if (taken.has(id)) faults.push({ ...line, fault: `id: ${id} is taken in ${collection}` })
      seen.set(id, line.number)
    }
  }
  return { count, present, faults }
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
