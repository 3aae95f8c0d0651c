// The questions of entries, for a table with a column for each of them.
import type { FormatName } from '../../schemas/exports.js'
import { invalidParameter } from '../problems/problems.js'
import { observe } from '../reading/form-questions.js'
import type { Reader } from '../reading/reader.js'
import type { Exported, ExportListing } from './index.js'

/** Whether each question gets a column: in a table or a layer of the entries of one form. */
export const hasQuestions = ({ name }: Exported, format: FormatName, { form, fields }: ExportListing): boolean =>
  name === 'entries' && format !== 'ndjson' && form !== undefined && (fields?.includes('answers') ?? true)

/**
 * The texts of all questions of the entries that a listing matches, in the order of their mean place in the entries.
 * @throws the problem `invalid_parameter` if they are too many
 */
export const questionsOf = async (reader: Reader, listing: ExportListing): Promise<string[]> => {
  const observed = await observe(reader, listing, false, listing.limit)
  if (typeof observed !== 'string') return observed.questions.map(({ question }) => question)
  throw invalidParameter('form', `has entries with ${observed}, too many for a column each; export the answers instead`)
}
