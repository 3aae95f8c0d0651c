// The command `npm run load -- FILE.ndjson`: loads real data. Every line is checked before the first is written, so a file
// with an invalid line changes nothing. If a load is interrupted, running it again continues it: records that are already
// stored exactly as in the file are skipped.
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { CHANGED_AT, type CollectionName, collections } from '../documents/collections.js'
import type { Store } from '../store/store.js'
import { type Line, readLines } from './load-lines.js'
import { missingReferences } from './load-references.js'
import { describeCollections, loadable } from './load-samples.js'
import {
  type Command,
  CommandError,
  organisationId,
  print,
  required,
  requireOrganisation,
  type Terminal,
  UsageError,
} from './run-command.js'

const usage = `Usage:
  npm run load -- FILE.ndjson --collection NAME --organisation ID [--strict] [--json]
  npm run load -- --help

--help describes the collections and shows a sample line of each: ${loadable.join(', ')}.
The organisation must exist: npm run organisations -- add --name NAME
MONGODB_URI names the database.`

const details = `Each line of the file is one record as a JSON object. "id" may also be called "_id". Dates are ISO 8601 strings with a time
zone. "organisation" may be left out.

If any line is invalid, nothing is written and the invalid lines are listed. References to records that the organisation
does not have are listed too; with --strict, nothing is written then either. If a load is interrupted, run it again to
continue: records that are already stored are skipped.

These are the collections, each with a sample line. Load them in this order, so that references are found:

${describeCollections()}`

/** A batch is full when it has this many lines or this many bytes. */
const BATCH_LINES = 1000
const BATCH_BYTES = 8 * 1024 * 1024
/** How many invalid lines or missing references are listed. */
const MAX_LISTED = 100
/** The longest text about each, in characters: an id can be as long as a line. */
const MAX_TEXT_LENGTH = 500

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
  if (file === undefined || rest.length > 0) throw new UsageError('Exactly one file must be named')
  const organisation = organisationId('organisation', required('organisation', values.organisation))
  const name = required('collection', values.collection)
  const collection = loadable.find((each) => each === name)
  if (collection === undefined) throw new UsageError(`--collection ${name} must be one of ${loadable.join(', ')}`)

  await requireOrganisation(store, organisation)

  const lines = () => readLines(file, collections[collection].schema, organisation)
  const failUnreadable = (error: NodeJS.ErrnoException): never => {
    if (error.syscall === undefined) throw error
    throw new CommandError(`${file} cannot be read: ${error.message}`)
  }
  // The file is read twice, which a pipe does not allow.
  if (!(await stat(file).catch(failUnreadable)).isFile()) throw new CommandError(`${file} is not a regular file`)
  const { count, present, errors, missing } = await check(store, collection, organisation, lines()).catch(
    failUnreadable,
  )
  if (count === 0) throw new CommandError(`${file} has no lines`)
  print(err, ...(errors.count > 0 ? errors : missing).listed)
  if (errors.count > 0) throw new CommandError(`Nothing was written: ${errors.count} of ${count} lines are invalid`)
  const missingText = `${missing.count} references point to records that ${organisation} does not have`
  if (values.strict && missing.count > 0) throw new CommandError(`Nothing was written: ${missingText}`)
  if (missing.count > 0) print(err, `Note: ${missingText}`)

  let written = 0
  for await (const batch of batches(lines())) {
    const documents = batch.flatMap(({ number, document }) => (present.has(number) ? [] : [document]))
    if (documents.length === 0) continue
    await store.insert(collection, documents as never).catch((error) => {
      throw new CommandError(`Interrupted after ${written} of ${count} lines: ${error.message}`, [
        'Run it again to continue: records that are already stored are skipped',
      ])
    })
    written += documents.length
  }
  const result = { collection, organisation, written, present: present.size, missingReferences: missing.count }
  const skipped = present.size === 0 ? '' : `; ${present.size} were already there`
  print(out, values.json ? JSON.stringify(result) : `Wrote ${written} to ${collection}${skipped}`)
}

/** Counts what was found, and keeps the text about the first of it. */
class Findings {
  count = 0
  readonly listed: string[] = []

  add(text: string): void {
    this.count += 1
    if (this.count <= MAX_LISTED) this.listed.push(text.slice(0, MAX_TEXT_LENGTH))
  }
}

/** Counts the lines, and finds the records that are already stored, the invalid lines and the missing references. */
const check = async (store: Store, collection: CollectionName, organisation: string, lines: AsyncIterable<Line>) => {
  const seen = new Map<unknown, number>()
  const present = new Set<number>()
  const errors = new Findings()
  const missing = new Findings()
  let count = 0
  for await (const batch of batches(lines)) {
    count += batch.length
    const found = await store.dangerouslyFindAll(collection, {
      _id: { $in: batch.flatMap(({ document }) => (document === undefined ? [] : [document._id])) },
    })
    const taken = new Map(found.map((document) => [document._id as unknown, withoutStamp(document)]))
    for (const { number, document, error } of batch) {
      const invalid = (text: string) => errors.add(`line ${number}: ${text}`)
      const id = document?._id
      if (error !== undefined) invalid(error)
      else if (seen.has(id)) invalid(`id: ${id} is already in line ${seen.get(id)}`)
      else if (isDeepStrictEqual(taken.get(id), document)) present.add(number)
      else if (taken.has(id)) invalid(`id: ${id} already exists in ${collection} as another record`)
      seen.set(id, number)
    }
    for (const { number, field, target, id } of await missingReferences(store, collection, organisation, batch)) {
      missing.add(`line ${number}: ${field}: ${organisation} has no ${id} in ${target}`)
    }
  }
  return { count, present, errors, missing }
}

/** A stored record as a line has it. */
const withoutStamp = ({ [CHANGED_AT]: _stamp, ...document }: Record<string, unknown>) => document

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

export const loadCommand: Command = { usage, details, run }
