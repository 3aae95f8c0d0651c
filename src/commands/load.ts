// The command `load FILE.ndjson`: loads real data, changes of it with --upsert, and deletions with --delete. Every
// line is checked before the first is written. If a load is interrupted, running it again skips the lines that are done.
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { Option } from '@commander-js/extra-typings'
import type { TObject } from '@sinclair/typebox'
import { strict } from '../../schemas/kit.js'
import { tinyData } from '../../seed/tiny.js'
import {
  CHANGED_AT,
  collections,
  former,
  isRecordCollection,
  type RecordCollection,
  recordCollections,
} from '../core/documents/collections.js'
import type { Store } from '../core/store/store.js'
import { notEmpty, organisationId, requireOrganisation } from './arguments.js'
import { type Line, readLines } from './load-lines.js'
import { missingReferences } from './load-references.js'
import { CommandError, type MakeCommand, newCommand } from './run-command.js'

/** Describes each collection: its fields as the stored schema has them, and a sample line. */
const describeCollections = (): string =>
  tinyData()
    .flatMap(({ collection, documents }) => {
      if (!isRecordCollection(collection)) return []
      const { required, properties }: TObject = collections[collection].schema
      const { _id: id, organisation: _, ...record } = documents.at(-1) as StoredDocument
      const namesOf = (isRequired: boolean) =>
        Object.keys(properties)
          .filter((field) => field !== 'organisation' && required?.includes(field) === isRequired)
          .map((field) => (field === '_id' ? 'id' : field))
          .join(', ')
      return [
        collection,
        `  required: ${namesOf(true)}`,
        `  optional: ${namesOf(false)}`,
        `  ${JSON.stringify({ id, ...record })}`,
      ]
    })
    .join('\n')

const example = 'load entries.ndjson --collection entries --organisation savannah'
const details = `
Each line of the file is one record as a JSON object. "id" may also be called
"_id". Dates are ISO 8601 strings with a time zone. "organisation" may be left
out.

If any line is invalid, nothing is written and the invalid lines are listed.
References to records that the organisation does not have are listed too; with
--strict, nothing is written then either. If a load is interrupted, run it again
to continue: records that are already stored are skipped.

Without an option every record must be new or the same as the stored one. With
--upsert a line replaces the whole record that has its id; a record that is the
same already is left as it is. With --delete each line is only an id, as in
{"id": "entry-1"}, and its record is deleted. What refers to a deleted record
stays. An id that is deleted already counts as done. An id that the organisation
never had is listed; with --strict, nothing is deleted then. A deleted record
can be loaded again. Records of other organisations are never touched.

These are the collections, each with a sample line. Load them in this order, so
that references are found:

${describeCollections()}`

const BATCH_LINES = 1000
const BATCH_BYTES = 8 * 1024 * 1024
const CHANGED = 'the file has changed since it was checked'
const MAX_LISTED = 100
/** The longest text about each, in characters: an id can be as long as a line. */
const MAX_TEXT_LENGTH = 500

export const loadCommand: MakeCommand = ({ result, tell, open, stopped }) =>
  newCommand('load', 'Load your own records, changes of them and deletions', example, details)
    .argument('<FILE.ndjson>', 'one JSON object a line', notEmpty)
    .addOption(new Option('--collection <NAME>', 'what the lines are').choices(recordCollections).makeOptionMandatory())
    .requiredOption('--organisation <ID>', 'whose records they are; it must exist', organisationId)
    .addOption(new Option('--upsert', 'replace records that exist').conflicts('delete'))
    .option('--delete', 'delete the records whose ids the lines have')
    .option('--strict', 'write nothing if a reference, or with --delete an id, finds no record')
    .action(async (file, { collection, organisation, upsert, delete: remove, strict: isStrict }) => {
      const store = open()
      const target = { mode: upsert ? 'upsert' : remove ? 'delete' : 'insert', collection, organisation } as const
      await requireOrganisation(store, organisation)
      const { schema } = collections[collection]
      const { _id, organisation: owner } = schema.properties
      const stop = stopped()
      const lines = () => batches(readLines(file, remove ? strict({ _id, organisation: owner }) : schema, organisation))
      const failUnreadable = (error: NodeJS.ErrnoException): never => {
        if (stop.aborted) throw new CommandError('Interrupted: nothing was written')
        if (error.syscall === undefined) throw error
        throw new CommandError(`${file} cannot be read: ${error.message}`)
      }
      // The file is read twice, which a pipe does not allow.
      if (!(await stat(file).catch(failUnreadable)).isFile())
        throw new CommandError(`${file} is not a regular file: it is read twice`)
      const checked = await check(store, target, lines(), stop).catch(failUnreadable)
      const { count, done, errors, missing, repeated, digests } = checked
      if (count === 0) throw new CommandError(`${file} has no lines`)
      tell(...(errors.count > 0 ? [errors] : [missing, repeated]).flatMap(({ listed }) => listed))
      if (errors.count > 0) throw new CommandError(`Nothing was written. Invalid lines: ${errors.count} of ${count}`)
      const missingText = remove
        ? `Ids that ${organisation} never had: ${missing.count}`
        : `References to records that ${organisation} does not have: ${missing.count}`
      if (isStrict && missing.count > 0) throw new CommandError(`Nothing was written. ${missingText}`)
      if (missing.count > 0) tell(missingText)
      if (repeated.count > 0)
        tell(`Entries with several answers to one question, which become one column: ${repeated.count}`)

      let written = 0
      const interrupted = (cause: string): never => {
        throw new CommandError(`Interrupted (lines written: ${written} of ${count}): ${cause}`, [
          'Run it again to continue: lines that are already done are skipped',
        ])
      }
      for await (const batch of lines()) {
        if (stop.aborted) interrupted('it was told to stop')
        if (digestOf(batch) !== digests.shift()) interrupted(CHANGED)
        const left = batch.filter(({ number }) => !done.has(number))
        if (left.length === 0) continue
        await write(store, target, left).catch(({ message }) => interrupted(message))
        written += left.length
      }
      if (digests.length > 0) interrupted(CHANGED)
      const counts = remove
        ? { deleted: written, unknown: missing.count, alreadyDeleted: done.size - missing.count }
        : { written, present: done.size, missingReferences: missing.count }
      const alreadyThere = done.size === 0 ? '' : `; ${done.size} already there`
      const line = remove ? `Deleted ${written} from ${collection}` : `Wrote ${written} to ${collection}${alreadyThere}`
      result({ collection, organisation, ...counts }, [line])
    })

interface Target {
  readonly mode: 'insert' | 'upsert' | 'delete'
  readonly collection: RecordCollection
  readonly organisation: string
}

const write = (store: Store, { mode, collection, organisation }: Target, lines: readonly Line[]): Promise<unknown> => {
  const documents = lines.map(({ document }) => document as never)
  if (mode === 'insert') return store.insert(collection, documents)
  if (mode === 'upsert') return store.upsert(collection, documents)
  const ids = documents.map(({ _id }) => _id)
  return store.remove(collection, organisation, ids)
}

/** What is found in lines. The same text is listed once, with the number of the lines that have it. */
class Findings {
  count = 0
  readonly #first = new Map<string, { readonly line: number; more: number }>()

  add(line: number, text: string): void {
    this.count += 1
    const shown = text.slice(0, MAX_TEXT_LENGTH)
    const known = this.#first.get(shown)
    if (known !== undefined) known.more += 1
    else if (this.#first.size < MAX_LISTED) this.#first.set(shown, { line, more: 0 })
  }

  get listed(): string[] {
    const more = (lines: number) => (lines === 0 ? '' : `, and ${lines} more lines alike`)
    return Array.from(this.#first, ([text, first]) => `line ${first.line}: ${text}${more(first.more)}`)
  }
}

/** The first question of an entry that has several answers, and how many. */
const repeatedIn = ({ answers = [] }: { answers?: readonly { readonly question: string }[] }) => {
  const counts = new Map<string, number>()
  for (const { question } of answers) counts.set(question, (counts.get(question) ?? 0) + 1)
  return [...counts].find(([, count]) => count > 1)
}

/** Tells whether the second reading of a batch is what the first one has checked. */
const digestOf = (batch: readonly Line[]): string => createHash('sha256').update(JSON.stringify(batch)).digest('base64')

/** Counts the lines. Finds the lines that are already done, the invalid lines, and references or ids without a record. */
const check = async (store: Store, target: Target, batches: AsyncIterable<readonly Line[]>, stop: AbortSignal) => {
  const { mode, collection, organisation } = target
  const seen = new Map<unknown, number>()
  const done = new Set<number>()
  const errors = new Findings()
  const missing = new Findings()
  const repeated = new Findings()
  const digests: string[] = []
  let count = 0
  for await (const batch of batches) {
    stop.throwIfAborted()
    count += batch.length
    digests.push(digestOf(batch))
    const found = await store.dangerouslyFindAll(collection, {
      _id: { $in: batch.flatMap(({ document }) => (document === undefined ? [] : [document._id])) },
    })
    const storedById = new Map(found.map((document) => [document._id as unknown, document as StoredDocument]))
    for (const { number, document, error } of batch) {
      const invalid = (text: string) => errors.add(number, text)
      const id = document?._id
      const stored = storedById.get(id)
      const isOwn = stored?.organisation === organisation
      const isDeleted = stored?.deletedFrom === organisation && stored.organisation === undefined
      if (document === undefined) invalid(error as string)
      else if (seen.has(id)) invalid(`id: ${id} is already in line ${seen.get(id)}`)
      else if (mode === 'delete') {
        if (!isOwn) done.add(number)
        if (!isOwn && !isDeleted) missing.add(number, `id: ${organisation} has no ${id} in ${collection}`)
      } else if (stored !== undefined && !isDeleted) {
        const { [CHANGED_AT]: _, [former.project]: _projects, [former.form]: _forms, ...record } = stored
        if (!isOwn)
          invalid(
            `id: ${id} belongs to another organisation: all organisations share ids, so begin yours with the id of your own`,
          )
        else if (isDeepStrictEqual(record, document)) done.add(number)
        else if (mode === 'insert')
          invalid(`id: ${id} already exists in ${collection} as another record; use --upsert to replace it`)
      }
      seen.set(id, number)
      const [question, times] = repeatedIn(document ?? {}) ?? []
      if (question !== undefined) repeated.add(number, `answers: ${JSON.stringify(question)} has ${times} answers`)
    }
    if (mode === 'delete') continue
    for (const { number, text } of await missingReferences(store, collection, organisation, batch))
      missing.add(number, text)
  }
  return { count, done, errors, missing, repeated, digests }
}

type StoredDocument = Readonly<Record<string, unknown>>

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
