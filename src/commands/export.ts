// The command `export NAME --output FILE`: writes what GET /v1/exports sends. There is a file only when it is complete.
import { Argument, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type FormatName, mediaTypes } from '../../schemas/exports.js'
import { ResponseTooLarge, UnfitForFormat, UnwritableDocument } from '../bson/reader.js'
import { openFile, type Wanted } from '../exports/file.js'
import { allExported, type Exported, type ExportListing, wrongFor } from '../exports/index.js'
import { ProblemError } from '../problems/problems.js'
import type { Doing } from '../reading/whole-list.js'
import type { Unreadable } from '../serializer/skipped.js'
import type { Store } from '../store/store.js'
import { type InputError, textChecker } from '../validation/text.js'
import { requireFree, writeNew } from './new-file.js'
import {
  CommandError,
  type MakeCommand,
  newCommand,
  notEmpty,
  organisationId,
  PROGRAM,
  requireOrganisation,
  written,
} from './run-command.js'

const details = `
A name of --where is a parameter of GET /v1/exports/NAME.FORMAT, as /docs of the
service describes it. It may be repeated:

  --where form=ID        the entries of a form, with a column for each question
                         in all formats but ndjson
  --where status=accepted --where createdSince=2025-06-01T00:00:00Z
  --where names=true     in xlsx and csv: names beside ids
  --where unreadable=skip
                         leaves out records that do not fit, and lists them

While it is written, the file is called FILE.PID.part, and if the export fails
or is interrupted, none is left. On standard output, only the exit code tells
whether the file is complete.`

const formatNames = Object.keys(mediaTypes) as FormatName[]
const STANDARD_OUTPUT = '-'
/** How many records that were left out are listed. */
const MAX_LISTED = 100

export const exportCommand: MakeCommand = ({ out, result, tell, counting, onStore, stopped }) =>
  newCommand(
    'export',
    'Export a whole list to a file',
    'export entries --organisation savannah --where status=accepted --output entries.csv',
    details,
  )
    .addArgument(new Argument('<NAME>', 'what to export').choices(allExported.map(({ name }) => name)))
    .addOption(
      new Option('--format <FORMAT>', 'format of the file; by default its ending, or csv').choices(formatNames),
    )
    .requiredOption('--organisation <ID>', 'whose records they are; it must exist', organisationId)
    .requiredOption('--output <FILE>', 'file to write; - is standard output', notEmpty)
    .option('--where <NAME=VALUE>', 'a filter or another parameter', parameter, {})
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print the result as JSON')
    .action((name, options, command) => {
      const { organisation, output, where, force = false, json = false } = options
      const format = options.format ?? formatNames.find((each) => output.endsWith(`.${each}`)) ?? 'csv'
      const exported = allExported.find((each) => each.name === name) as Exported
      const fail = (messages: readonly string[]) => command.error(`error: ${messages.join('; ')}`)
      if (!exported.formats.includes(format))
        fail([`--format of ${name} must be one of ${exported.formats.join(', ')}`])
      if (json && output === STANDARD_OUTPUT) fail(['--json must be left out where the file is on standard output'])
      const checked = textChecker(exported.query)(where)
      if ('errors' in checked) return fail(checked.errors.map(messageOf))
      const listing = checked.value as ExportListing
      const wrong = wrongFor(format, listing)
      if (wrong.length > 0) fail(wrong.map(messageOf))
      return onStore(async (store) => {
        const isFile = output !== STANDARD_OUTPUT
        if (isFile) await requireFree(output, force)
        await requireOrganisation(store, organisation)
        const wanted: Wanted = { exported, format, scope: { organisation }, listing }
        // Without a file there is nothing to remove, so the process may end at once.
        const signal = isFile ? stopped() : new AbortController().signal
        const doing: Doing = async (work) => {
          signal.throwIfAborted()
          return work({ signal })
        }
        try {
          const { bytes, skipped } = await counting(async (count) => {
            const aggregate: Store['aggregate'] = async (query, reading) => {
              const list = await store.aggregate(query, reading)
              count(list.documents.length)
              return list
            }
            const { parts, skipped } = await openFile({ ...store, aggregate }, wanted, doing)
            if (isFile) return { bytes: await writeNew(output, force, parts), skipped }
            for await (const part of parts) await written(out, part)
            return { skipped }
          })
          if (bytes !== undefined)
            result(json, { file: output, bytes, unreadable: skipped }, [`Wrote ${output}: ${bytes} bytes`])
          tell(...linesAbout(skipped))
        } catch (error) {
          throw signal.aborted ? new CommandError('Interrupted: nothing was written') : explained(error)
        }
      })
    })

/** Parameters as those of a URL are given: one that is repeated has all its values. */
type Parameters = Readonly<Record<string, string | string[]>>

/** Reads --where. */
const parameter = (text: string, others: Parameters): Parameters => {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new InvalidArgumentError('it must be NAME=VALUE, such as status=accepted')
  const before = others[name]
  return { ...others, [name]: before === undefined ? (value as string) : [before, value as string].flat() }
}

/** What is wrong with a parameter. The message about an unknown name does not list the allowed names. */
const messageOf = ({ name, message, allowed }: InputError): string =>
  `--where ${name} ${message}${message.startsWith('is not') ? `; allowed are ${allowed?.join(', ')}` : ''}`

const linesAbout = (skipped: readonly Unreadable[]): string[] => [
  ...skipped.slice(0, MAX_LISTED).map(({ id, message }) => `${id}: ${message}`),
  ...(skipped.length > 0 ? [`Records left out: ${skipped.length}`] : []),
]

/** What the user is told of an error that is no bug. */
const explained = (error: unknown): unknown => {
  if (error instanceof UnwritableDocument) {
    return new CommandError(`A record does not fit: ${error.message}`, [
      'Leave out such records with: --where unreadable=skip',
      `List them all with: npx ${PROGRAM} check`,
    ])
  }
  const isKnown = [ProblemError, ResponseTooLarge, UnfitForFormat].some((known) => error instanceof known)
  return isKnown ? new CommandError((error as Error).message) : error
}
