// The command line that brings in real data: `npm run load -- file.ndjson`. Every line is checked before the first is
// written, so that a file with a bad line leaves the database as it was. A load that was broken off goes on when it is run
// again: what is there already, just as the file has it, is passed over.
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { type CollectionName, collections } from '../documents/collections.js'
import type { Store } from '../store/store.js'
import { type Line, readLines } from './load-lines.js'
import { missingReferences } from './load-references.js'
import {
  type Command,
  CommandError,
  noteUnknownOrganisation,
  organisationId,
  print,
  required,
  type Terminal,
  UsageError,
} from './run-command.js'

const usage = `Usage:
  npm run load -- FILE.ndjson --collection NAME --organisation ID [--strict] [--json]

Each line of the file is a JSON object: a document of the collection as src/store/collections.ts describes it, with its
id as "id" or "_id" and instants as ISO 8601 texts. If any line is bad, none is written. References to what the
organisation does not have are named; with --strict they are bad lines. A load that was broken off goes on when it is run
again. MONGODB_URI names the database.`

const loadable = ['users', 'agents', 'forms', 'projects', 'dispatches', 'entries'] as const satisfies CollectionName[]

/** A batch is full with so many lines or so many bytes of them. */
const BATCH_LINES = 1000
const BATCH_BYTES = 8 * 1024 * 1024
/** How many are named at the most, of bad lines and of references that are missing. */
const MOST_NAMED = 100
/** How much is said of each, in characters: an id may be as long as a line. */
const MOST_SAID = 500

const run = async (store: Store, argv: string[], { out, err }: Terminal): Promise<void> => {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      collection: { type: 'string' },
      organisation: { type: 'string' },
      strict: { type: 'boolean', default: false },
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
    if (error.syscall === undefined) throw error
    throw new CommandError(`${file} cannot be read: ${error.message}`)
  }
  if (!(await stat(file).catch(unreadable)).isFile())
    throw new CommandError(`${file} is no file that can be read twice`)
  const { count, present, faults, missing } = await check(store, collection, organisation, lines()).catch(unreadable)
  if (count === 0) throw new CommandError(`${file} has no lines`)
  print(err, ...(faults.count > 0 ? faults : missing).first)
  if (faults.count > 0) throw new CommandError(`Nothing was written: ${faults.count} of ${count} lines are bad`)
  const lost = `${missing.count} references lead to nothing that ${organisation} has`
  if (values.strict && missing.count > 0) throw new CommandError(`Nothing was written: ${lost}`)
  if (missing.count > 0) print(err, `Note: ${lost}`)

  let written = 0
  for await (const batch of batches(lines())) {
    const documents = batch.flatMap(({ number, document }) => (present.has(number) ? [] : [document]))
    if (documents.length === 0) continue
    await store.insert(collection, documents as never).catch((error) => {
      throw new CommandError(`Broken off after ${written} of ${count} lines: ${error.message}`, [
        'Run it again to go on: what is written is passed over',
      ])
    })
    written += documents.length
  }
  const result = { collection, organisation, written, present: present.size, missingReferences: missing.count }
  const besides = present.size === 0 ? '' : `; ${present.size} were there already`
  print(out, values.json ? JSON.stringify(result) : `Wrote ${written} to ${collection}${besides}`)
  await noteUnknownOrganisation(store, organisation, err)
}

/** What there may be any number of: how many there are, and the first of them in words. */
class Findings {
  count = 0
  readonly first: string[] = []

  add(text: string): void {
    this.count += 1
    if (this.count <= MOST_NAMED) this.first.push(text.slice(0, MOST_SAID))
  }
}

/**
 * Counts the lines, and finds those that are there already, those that are bad, also because their id is taken, and the
 * references that lead to nothing.
 */
const check = async (store: Store, collection: CollectionName, organisation: string, lines: AsyncIterable<Line>) => {
  const seen = new Map<unknown, number>()
  const present = new Set<number>()
  const faults = new Findings()
  const missing = new Findings()
  let count = 0
  for await (const batch of batches(lines)) {
    count += batch.length
    const found = await store.dangerouslyFindAll(collection, {
      _id: { $in: batch.flatMap(({ document }) => (document === undefined ? [] : [document._id])) },
    })
    const taken = new Map<unknown, unknown>(found.map((document) => [document._id, document]))
    for (const { number, document, fault } of batch) {
      const bad = (text: string) => faults.add(`line ${number}: ${text}`)
      const id = document?._id
      if (fault !== undefined) bad(fault)
      else if (seen.has(id)) bad(`id: ${id} stands in line ${seen.get(id)} already`)
      else if (isDeepStrictEqual(taken.get(id), document)) present.add(number)
      else if (taken.has(id)) bad(`id: ${id} is taken in ${collection}`)
      seen.set(id, number)
    }
    for (const { number, field, target, id } of await missingReferences(store, collection, organisation, batch)) {
      missing.add(`line ${number}: ${field}: ${organisation} has no ${id} in ${target}`)
    }
  }
  return { count, present, faults, missing }
}

async function* batches(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = []
  let size = 0
  for await (const line of lines) {
    batch.push(line)
    size += line.size
    if (batch.length === BATCH_LINES || size >= BATCH_BYTES) {
      yield batch
      batch = []
      size = 0
    }
  }
  if (batch.length > 0) yield batch
}

export const loadCommand: Command = { usage, run }
