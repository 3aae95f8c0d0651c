// The questions of entries, for a table with a column for each of them.
import type { FormatName } from '../../schemas/exports.js'
import type { Scope } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import { onTimeout } from '../reading/cost.js'
import { MAX_QUESTIONS, questionsQuery, textsOf } from '../reading/questions.js'
import type { Reading, Store } from '../store/store.js'
import { conditionsOf, type Exported, type ExportListing } from './index.js'

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
  const tooLong = () => tookTooLong(' for form: choose fields without answers, or export the answers')
  const query = questionsQuery(scope, conditionsOf(exported, listing))
  const texts = textsOf(await store.aggregate(query, reading).catch(onTimeout(tooLong)))
  if (texts !== undefined) return texts
  throw invalidParameter(
    'form',
    `has entries with more than ${MAX_QUESTIONS} questions, too many for a column each; export the answers instead`,
  )
}
