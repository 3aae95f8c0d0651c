// Makes the bytes of a file of a whole list, page by page.
import type { FormatName } from '../../schemas/exports.js'
import type { Scope } from '../pipelines/stages.js'
import { Skipped, type Unreadable } from '../serializer/items.js'
import type { Reading, Store } from '../store/store.js'
import type { Encoder } from './encoder.js'
import { type Exported, type ExportListing, encoderOf, selectionOf } from './index.js'
import { Pages } from './pages.js'
import { hasQuestions, questionsOf } from './questions.js'

/** The most bytes of JSON that tell of records that are left out. */
const MAX_SKIPPED_BYTES = 1024 * 1024

/** What a file is to hold. */
export interface Wanted {
  readonly exported: Exported
  readonly format: FormatName
  readonly scope: Scope
  readonly listing: ExportListing
}

/** A file that is made when its parts are asked for. */
export interface OpenFile {
  readonly parts: AsyncGenerator<Buffer, void>
  /** The records that were left out so far. */
  readonly skipped: readonly Unreadable[]
}

/** Waits for a turn, and works on a part of the file in it. Between two turns an export holds no place. */
export type Turn = (work: (reading: Reading) => Promise<Buffer>) => Promise<Buffer>

/** The parts of a file. Each is made when it is asked for. */
async function* fileOf(
  store: Pick<Store, 'aggregate'>,
  pages: Pages,
  encoder: Encoder,
  turn: Turn,
): AsyncGenerator<Buffer, void> {
  let isOver = false
  try {
    while (!isOver) {
      const part = await turn(async (reading) => {
        const list = await pages.next((query) => store.aggregate(query, reading))
        isOver = list === undefined
        return list === undefined ? encoder.end() : encoder.write(list, reading.signal)
      })
      if (part.length > 0) yield part
    }
  } finally {
    encoder.close()
  }
}

/**
 * Opens the file of an export.
 * @param ask waits until a query may run that is needed before the first part
 * @throws the problem `invalid_parameter` if there are more questions than columns
 */
export const openFile = async (
  store: Pick<Store, 'aggregate'>,
  { exported, format, scope, listing }: Wanted,
  ask: (work: (reading: Reading) => Promise<string[]>) => Promise<string[]>,
  turn: Turn,
): Promise<OpenFile> => {
  const skipped = listing.unreadable === 'skip' ? new Skipped(MAX_SKIPPED_BYTES) : undefined
  const questions = hasQuestions(exported, format, listing)
    ? await ask((reading) => questionsOf(exported, scope, listing, (query) => store.aggregate(query, reading)))
    : undefined
  const encoder = encoderOf(exported, format, listing, { questions, skipped, without: scope.without })
  const pages = new Pages(exported.resource, scope, selectionOf(exported, format, listing), listing.limit)
  return { parts: fileOf(store, pages, encoder, turn), skipped: skipped?.records ?? [] }
}
