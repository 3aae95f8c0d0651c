// GET /v1/summaries/entries, also as CSV: how many entries there are. GET /v1/forms/:id/questions: what they answer.
import { IdParams } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import { strict } from '../../schemas/kit.js'
import { Questions, Summary, SummaryFileQuery, SummaryQuery } from '../../schemas/summaries.js'
import type { Capability } from '../core/door/capability.js'
import { attached, commonProblems, FILE, tagged } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import { getFormQuestions, QUESTIONS } from './questions.js'
import { COUNTS, summarizeEntries, summarizeEntriesAsCsv } from './summary.js'
import { tools } from './tools.js'

const routes: readonly Route[] = [
  {
    path: '/summaries/entries',
    operationId: 'summarizeEntries',
    summary: 'Count entries',
    description: COUNTS,
    tag: 'Entries',
    query: SummaryQuery,
    response: Summary,
    problems: [...commonProblems, 'not_in_scope'],
    headers: tagged,
    operation: summarizeEntries,
  },
  {
    path: '/summaries/entries.csv',
    operationId: 'summarizeEntriesAsCsv',
    summary: 'Count entries, as a table',
    description: `${COUNTS} A cell of the map has two columns, and so on: the rows are those of the JSON.`,
    tag: 'Entries',
    query: SummaryFileQuery,
    response: FILE,
    responseDescription: 'The table.',
    problems: [...commonProblems, 'not_in_scope'],
    headers: { ...attached, ...tagged },
    types: [mediaTypes.csv],
    isTypeInPath: true,
    operation: summarizeEntriesAsCsv,
  },
  {
    path: '/forms/:id/questions',
    operationId: 'getFormQuestions',
    summary: 'Get the questions of a form by its id',
    description: QUESTIONS,
    tag: 'Forms',
    params: IdParams('form'),
    query: strict({}),
    response: Questions,
    problems: [...commonProblems, 'not_found', 'response_too_large'],
    headers: tagged,
    operation: getFormQuestions,
  },
]

export const counts: Capability = { routes: () => routes, tools }
