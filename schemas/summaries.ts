// Summaries: how many entries there are, by what they have in common; and the questions that were answered in a form.
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { commonFilters, exampleIds, Text, Timestamp } from './common.js'
import { answered, entryFilters } from './entries.js'
import { success } from './envelope.js'
import { csvParameters } from './exports.js'
import { choosing, defaulted, filter, inWords, literals, personal, place, several, strict, word } from './kit.js'

/** A group of entries without a value has null. */
const orNull = (schema: TSchema, description: string, example: unknown): TSchema =>
  Type.Optional(Type.Union([schema, Type.Null()], { description, examples: [example] }))
const text = (description: string, example: string) => orNull(Type.String(), description, example)

/** The periods of a time. */
export const periods = {
  day: '2025-03-14',
  week: '2025-03-10',
  month: '2025-03',
  year: '2025',
} as const
/** The same, and what a clock shows of a time, as a number. */
export type Period = keyof typeof periods | 'weekday' | 'hour'

/** The widths of cells in degrees. */
export const steps = [5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01] as const

const Cell = Type.Object(
  {
    longitude: Type.Number({ description: 'Longitude of its middle, in degrees (WGS 84).', examples: [8.55] }),
    lattitude: Type.Number({ description: 'Latitude of its middle, in degrees (WGS 84).', examples: [11.95] }),
  },
  { title: 'SummaryCell', description: 'A square of the map. Its western and southern edges belong to it.' },
)

/** By what entries can be counted, besides the questions of a form. */
const dimensions = Type.Object({
  status: text('Status of the entries.', 'accepted'),
  form: text('Id of the form.', exampleIds.form),
  project: text('Id of the project.', exampleIds.project),
  dispatch: text('Id of the dispatch.', exampleIds.dispatch),
  agent: text('Id of the agent.', exampleIds.agent),
  'location.country': place(text('Country.', 'Nigeria')),
  'location.state': place(text('State.', 'Kano')),
  'location.lga': place(text('Local government area.', 'Tarauni')),
  'location.city': place(text('City.', 'Kano')),
  ...Object.fromEntries(
    Object.entries(periods).map(([period, example]) => [
      `createdAt:${period}`,
      text(`The ${period} in which the entries were created${period === 'week' ? ': its Monday' : ''}.`, example),
    ]),
  ),
  'createdAt:weekday': orNull(Type.Integer(), 'The day of the week, from 1 for Monday to 7.', 5),
  'createdAt:hour': orNull(Type.Integer(), 'The hour of the day, from 0 to 23.', 9),
  ...Object.fromEntries(
    steps.map((step) => [
      `location:${step}`,
      place(orNull(Cell, `The cell of ${step} degrees that has the entries.`, { longitude: 8.55, lattitude: 11.95 })),
    ]),
  ),
})

const names = Object.keys(dimensions.properties)
const escaped = (name: string) => name.replaceAll('.', '\\.')

const name = (of: string, example: string) => text(`Name of the ${of}. Only with \`names=true\`.`, example)

const measured = Type.Optional(
  Type.Object(
    {
      count: Type.Integer({ description: 'How many of the entries have such a number.', examples: [40] }),
      min: orNull(Type.Number(), 'The least one.', 61),
      mean: orNull(Type.Number(), 'Their mean, or null if their sum is too large for a number.', 305.5),
      max: orNull(Type.Number(), 'The greatest one.', 900),
      median: orNull(Type.Number(), 'Their median as spreadsheets have it, within 1 %.', 290),
      p10: orNull(Type.Number(), 'Their 10th percentile, within 1 %.', 120),
      p90: orNull(Type.Number(), 'Their 90th percentile, within 1 %.', 610),
    },
    {
      title: 'SummaryMeasure',
      description:
        'The numbers of the entries: only with `measure`, `duration` their durations, or `answer` what was answered to a question.',
    },
  ),
)

export const SummaryRow = Type.Object(
  {
    ...dimensions.properties,
    formName: name('form', 'Household water survey'),
    projectName: name('project', 'Water points 2025'),
    dispatchName: name('dispatch', 'Baseline, March'),
    agentName: personal(name('agent', 'Amina Bello')),
    totalExpectedEntries: orNull(
      Type.Number(),
      'How many entries the dispatch expects. Only with `names=true` and `by=dispatch`.',
      120,
    ),
    count: Type.Integer({ description: 'Number of entries.', examples: [41] }),
    duration: measured,
    answer: measured,
  },
  {
    title: 'SummaryRow',
    description:
      'A group of entries: what they have in common under the names of `by`, and how many they are. Under the key of a question is an answer.',
    // A text or null, but a generator for Go fails at a map of these.
    additionalProperties: Type.Unknown({ description: 'What was answered: a text, or null.' }),
  },
)

export const Summary = Type.Object(
  {
    success,
    data: Type.Array(SummaryRow, {
      description:
        'The groups, largest first, and with `measure` those with the greatest mean first; with a time among `by`, in the order of time. Equal ones are in the order of their values, and null is last.',
    }),
    _metadata: Type.Object(
      {
        total: Type.Integer({ description: 'How many entries match.' }),
        groups: Type.Integer({ description: 'How many groups there are.' }),
        others: Type.Object(
          {
            groups: Type.Integer({ description: 'How many groups `top` leaves out.' }),
            count: Type.Integer({ description: 'How many entries are in them.' }),
          },
          { title: 'SummaryRest', description: 'What is left out.' },
        ),
        multiple: Type.Optional(
          Type.Boolean({
            description: 'Whether an entry is in several groups, because it has several choices. Else left out.',
          }),
        ),
        asOf: Timestamp('When this was counted.'),
      },
      { title: 'SummaryMetadata', description: 'What the groups are of.' },
    ),
  },
  { title: 'SummaryResponse', description: 'How many entries there are.' },
)

/** How many groups a response has at most. */
export const MAX_TOP = 10_000

/** The key of a question, as a pattern. */
export const KEY = '[\\da-f]{12}'
const BY = `one or two of ${names.join(', ')}, and with form the key of a question`

/** Of counts, questions and checks. */
export const missing = several(Type.String({ maxLength: 100 }), {
  maxItems: 20,
  uniqueItems: true,
  description:
    'Answers that count as none, separated by commas, such as `-99,-88,NA`. Only with the entries of one form.',
})

const parameters = {
  by: inWords(
    BY,
    choosing(
      dimensions,
      several(Type.String({ pattern: `^(${names.map(escaped).join('|')}|${KEY})$` }), {
        maxItems: 2,
        uniqueItems: true,
        description: `What to count by (without it, all are one group): ${BY}. Two are separated by a comma, such as \`status,createdAt:month\`.`,
      }),
    ),
  ),
  zone: defaulted(
    Type.String({
      format: 'time-zone',
      description: 'Time zone of periods (IANA), such as `Africa/Lagos`.',
    }),
    'UTC',
  ),
  names: filter(
    literals(['true', 'false'], {
      title: 'TrueOrFalse',
      description:
        'With `true`, names stand beside the ids of forms, projects, dispatches and agents. Beside a dispatch stands how many entries it expects.',
    }),
  ),
  measure: filter(
    inWords(
      'duration, or with form the key of a question',
      Type.String({
        pattern: `^(duration|${KEY})$`,
        description:
          'Adds `duration`, or with the key of a question `answer`: the least and greatest number, mean, median, p10 and p90. Groups with the greatest mean are then first. An answer in digits, such as `-2.5` or `3e+05`, is a number.',
      }),
    ),
  ),
  missing,
  none: filter(
    literals(['true', 'false'], {
      title: 'TrueOrFalse',
      description:
        'With `true`, records without entries are groups with a `count` of 0. Only if `by` is `form`, `project`, `dispatch` or `agent`.',
    }),
  ),
}

const top = Type.Integer({
  minimum: 1,
  maximum: MAX_TOP,
  description: 'How many groups there are at most: the first ones. `_metadata` says what is left out.',
})

export type SummaryQuery = Static<typeof SummaryQuery>
export const SummaryQuery = strict(
  { ...parameters, top: defaulted(top, 1000), ...entryFilters, answered, ...commonFilters },
  { explode: false },
)

export const SummaryFileQuery = strict(
  {
    ...parameters,
    top: filter({
      ...top,
      description: `How many rows the file has at most: the first ones. Without it, more than ${MAX_TOP} groups are an error.`,
    }),
    ...entryFilters,
    answered,
    ...commonFilters,
    ...csvParameters,
  },
  { explode: false },
)

const Choice = Type.Object(
  {
    answer: Text('The answer.', 'Borehole'),
    count: Type.Integer({ description: 'How often it was given.', examples: [41] }),
  },
  { title: 'QuestionChoice', description: 'An answer, and how often it was given.' },
)

export const Question = Type.Object(
  {
    key: Type.String({
      description: 'The key of the question: the first 12 hexadecimal digits of the SHA-256 of its text.',
      examples: ['3f9a0c11d2e4'],
    }),
    question: Text('Text of the question.', 'What is your main source of drinking water?'),
    types: Type.Array(Type.String(), {
      description: 'The types that it has in entries.',
      examples: [['singleChoice']],
    }),
    values: word(['number', 'date', 'text'], {
      title: 'AnswerValues',
      description:
        'What all answers are: numbers, days or times (ISO 8601), or else texts. An entry with several answers makes them texts.',
    }),
    position: Type.Number({ description: 'Its mean place in the entries, from 1.', examples: [1] }),
    answered: Type.Integer({ description: 'How many entries have an answer to it.', examples: [118] }),
    distinct: Type.Integer({
      description:
        'How many different answers there are. Where they take too much memory to count each, it is how many were counted until then, and `choices` is empty.',
      examples: [5],
    }),
    choices: Type.Array(Choice, { description: 'The answers, most frequent first: at most 1,000.' }),
    others: Type.Integer({ description: 'How often other answers were given.', examples: [0] }),
    firstAnswered: Type.Optional(Timestamp('When the first entry that answers it was created.')),
    lastAnswered: Type.Optional(Timestamp('When the last entry that answers it was created.')),
  },
  {
    title: 'Question',
    description: 'A question, as entries have it. A choice that nobody took is not there.',
  },
)
export type Question = Static<typeof Question>
export type Values = 'number' | 'date' | 'text'

export const Questions = Type.Object(
  {
    success,
    data: Type.Array(Question, { description: 'The questions, in the order of `position`.' }),
    _metadata: Type.Object(
      {
        entries: Type.Integer({ description: 'How many entries the form has.' }),
        asOf: Timestamp('When this was counted.'),
      },
      { title: 'QuestionsMetadata', description: 'What the questions are of.' },
    ),
  },
  { title: 'QuestionsResponse', description: 'The questions that were observed in the entries of a form.' },
)
