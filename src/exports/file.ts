// Makes the bytes of a file of a whole list, part by part.
import type { FormatName } from '../../schemas/exports.js'
import { type BsonDocument, sizeOf } from '../core/bson/reader.js'
import type { FileAnswer } from '../core/door/answer.js'
import { allEnded } from '../core/limits/work.js'
import { invalidParameter } from '../core/problems/problems.js'
import { observe } from '../core/read/form-questions.js'
import { withQuestions } from '../core/read/question-keys.js'
import type { Reader } from '../core/read/reader.js'
import type { Selection } from '../core/read/selection.js'
import { QueryTimeout } from '../core/store/store.js'
import { jobsOf } from '../core/workers/pool.js'
import type { Unreadable } from '../core/write/unreadable.js'
import { choiceOf, type Exported, type ExportListing, type FileOptions, MAX_RECORDS } from './exported.js'
import type { Told } from './job.js'

const openFileJob = jobsOf<FileOptions>(new URL('./job.js', import.meta.url))

export interface Wanted {
  readonly exported: Exported
  readonly format: FormatName
  readonly listing: ExportListing
}

/**
 * Opens the file of an export. Each of its parts is made when it is asked for, as a large task.
 * @throws the problem `invalid_parameter` if there are more questions than columns, or more records than rows of a sheet
 */
export const openFile = async (reader: Reader, asked: Wanted): Promise<Pick<FileAnswer, 'parts' | 'read' | 'left'>> => {
  const { exported, format } = asked
  const listing = await withQuestions(reader, asked.listing)
  const wanted = { ...asked, listing }
  if (format === 'xlsx') await requireRows(reader, wanted)
  const questions = hasQuestions(wanted) ? await questionsOf(reader, listing) : undefined
  // A resource that the key does not see is refused before anything is sent, also for a HEAD.
  const selection = reader.select(exported.resource, { ...listing, ...choiceOf(exported, format, listing) })
  const read = { rows: 0, ahead: 0 }
  const left: Unreadable[] = []
  const options = { name: exported.name, format, without: reader.scope.without, listing, questions }
  return { parts: makeParts(reader, selection, options, read, left), read, left }
}

async function* makeParts(
  reader: Reader,
  selection: Selection,
  options: FileOptions,
  read: { rows: number; ahead: number },
  left: Unreadable[],
): AsyncGenerator<Buffer, void> {
  const nextPage = reader.pages(selection, options.listing.limit)
  const file = openFileJob(options)
  let [isOver, hasMore] = [false, false]
  let ahead: readonly BsonDocument[] | undefined
  /** While a page becomes a part, the next page is read. The first part is sent before. */
  const nextPart = async () => {
    const page = ahead ?? (await nextPage())
    isOver = page.length === 0
    const next = isOver || read.rows === 0 ? undefined : nextPage()
    read.rows += page.length
    const [made, following] = await allEnded([isOver ? file.end() : file.add(page), next])
    ahead = following
    read.ahead = sizeOf(ahead ?? [])
    return made
  }
  try {
    while (!isOver || hasMore) {
      const made = await (hasMore ? file.add([]) : nextPart())
      reader.ticket.signal.throwIfAborted()
      const told = made.told as Told
      hasMore = told.hasMore
      left.push(...told.left)
      const { buffer } = made.bytes as Uint8Array<ArrayBuffer>
      yield Buffer.from(buffer)
    }
  } finally {
    file.close()
  }
}

/** Whether each question gets a column: in a table or a layer of the entries of one form. */
const hasQuestions = ({ exported: { name }, format, listing: { form, fields } }: Wanted): boolean =>
  name === 'entries' && format !== 'ndjson' && form !== undefined && (fields?.includes('answers') ?? true)

/** The texts of all questions of the entries that a listing matches, in the order of their mean place in the entries. */
const questionsOf = async (reader: Reader, listing: ExportListing): Promise<string[]> => {
  const observed = await observe(reader, listing, { limit: listing.limit })
  if (typeof observed !== 'string') return observed.questions.map(({ question }) => question)
  throw invalidParameter('form', `has entries with ${observed}, too many for a column each; export the answers instead`)
}

/** Where counting takes too long, the sheet itself finds that its rows are too many. */
const requireRows = async (reader: Reader, { exported, listing }: Wanted): Promise<void> => {
  const { resource, formats } = exported
  const matching = await reader.count({ resource, conditions: resource.conditions(listing) }).catch((error) => {
    if (error instanceof QueryTimeout) return 0
    throw error
  })
  if (Math.min(matching, listing.limit ?? matching) <= MAX_RECORDS) return
  const message = `must be one of ${formats.filter((each) => each !== 'xlsx').join(', ')}, or there must be a limit: ${matching} records match, and a sheet has at most ${MAX_RECORDS}`
  throw invalidParameter('format', message, 'path')
}
