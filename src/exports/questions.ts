// The questions of entries, for a table with a column for each of them.
import type { FormatName } from '../../schemas/exports.js'
import { fieldOf, stringOf } from '../bson/values.js'
import type { Scope, Stage } from '../pipelines/stages.js'
import { problem, tookTooLong } from '../problems/problems.js'
import { onTimeout } from '../reading/cost.js'
import type { Reading, Store } from '../store/store.js'
import { type Exported, type ExportListing, matchingQuery } from './index.js'

/** The most columns for questions. Spreadsheets have 16,384 columns. */
export const MAX_QUESTIONS = 2000

const stages: readonly Stage[] = [
  { $unwind: { path: '$answers', includeArrayIndex: 'position' } },
  { $group: { _id: '$answers.question', position: { $avg: '$position' } } },
  { $sort: { position: 1, _id: 1 } },
  { $limit: MAX_QUESTIONS + 1 },
]

/** Whether each question gets a column: in a table or a layer of the entries of one form. */
export const hasQuestions = ({ name }: Exported, format: FormatName, { form, fields }: ExportListing): boolean =>
  name === 'entries' && format !== 'ndjson' && form !== undefined && (fields?.includes('answers') ?? true)

/**
 * The texts of all questions of the entries that a listing matches, in the order of their mean place in the entries.
 * @throws the problem `invalid_parameter` if they are too many
 */
export const questionsOf = async (
  store: Pick<Store, 'aggregate'>,
  exported: Exported,
  scope: Scope,
  listing: ExportListing,
  reading: Reading,
): Promise<string[]> => {
  const query = matchingQuery(exported, scope, listing, stages)
  const tooLong = () => tookTooLong(' for form: choose fields without answers, or export the answers')
  const { documents } = await store.aggregate(query, reading).catch(onTimeout(tooLong))
  if (documents.length > MAX_QUESTIONS) {
    const message = `has entries with more than ${MAX_QUESTIONS} questions, too many for a column each`
    throw problem('invalid_parameter', `form ${message}; export the answers instead`, {
      errors: [{ in: 'query', name: 'form', message }],
    })
  }
  return documents.flatMap(({ bytes }) => stringOf(bytes, fieldOf(bytes, 0, '_id')) ?? [])
}
