// High-frequency checks: which entries and agents of a survey need a second look.
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { commonFilters, exampleIds, Id, type PageLimits, paging, Timestamp } from './common.js'
import { answered, entryFilters } from './entries.js'
import { PageMetadata, success } from './envelope.js'
import { csvParameters } from './exports.js'
import { choosing, defaulted, literals, personal, place, refTo, select, several, strict } from './kit.js'
import { KEY, SummaryQuery } from './summaries.js'

const orNull = (schema: TSchema, description: string, example: unknown): TSchema =>
  Type.Union([schema, Type.Null()], { description, examples: [example] })

/** What is checked of each entry, and when it is flagged. */
const OF_ENTRIES = {
  short: 'It took much less time than the others of its form, or 0 or less.',
  long: 'It took much more time than the others of its form.',
  copy: 'All its answers are those of an earlier entry of its form.',
  repeated: 'Another entry has the same answers to the questions of `unique`. Only with it.',
  incomplete:
    'It answers less than half of what the median entry of its form answers, and few have answered these questions alone.',
  number: 'A number is far outside the quartiles of its question, or a code such as -99.',
  place:
    'Its place is missing, 0,0, exchanged, far from the others of its state, nowhere on earth, or one point that an agent repeats.',
} as const
export type EntryCheck = keyof typeof OF_ENTRIES
export const entryChecks = Object.keys(OF_ENTRIES) as EntryCheck[]
const SAMENESS = 'The answers of the agent to the closed questions of a form are more alike than those of the others.'
export const agentChecks = [...entryChecks, 'sameness'] as const
export type Check = (typeof agentChecks)[number]

/** Why the check `place` flags an entry, and why `number` does if it is not for its size. */
export const reasons = ['missing', 'zero', 'exchanged', 'far', 'repeated', 'code'] as const

const expected = Type.Array(Type.Union([Type.Number(), Type.Null()]), {
  minItems: 2,
  maxItems: 2,
  description: 'The least and the greatest value that is not flagged. Null where there is no such bound.',
  examples: [[131.2, null]],
})
const n = Type.Integer({
  description:
    'From how many values the bounds come. Without bounds, how many entries have the same answers, or were looked at.',
  examples: [190],
})

const Flag = Type.Object(
  {
    check: literals(entryChecks, { title: 'EntryCheck', description: 'The check that flags the entry.' }),
    reason: Type.Optional(
      literals(reasons, {
        title: 'FlagReason',
        description:
          'Why `place` flags the entry. With `number` it is `code`: a number that stands for no answer, such as -99.',
      }),
    ),
    key: Type.Optional(
      Type.String({ description: 'The key of the question, if there is one.', examples: ['3f9a0c11d2e4'] }),
    ),
    question: Type.Optional(
      Type.String({
        description: 'The text of the question, or its first 200 characters.',
        examples: ['How many people live in the household?'],
      }),
    ),
    value: Type.Union([Type.Number(), Type.String(), Type.Null()], {
      description:
        'What is flagged: the duration, how many answers there are, the number, for `copy` the id of the earlier entry, for `repeated` that of another one, and for `place` kilometres, or how many entries the agent has at the point. Null where nothing is there, and for a place that is nowhere on earth.',
      examples: [42],
    }),
    expected,
    n,
  },
  { title: 'Flag', description: 'Why an entry needs a second look.' },
)

export const CheckedEntry = Type.Object(
  {
    id: Id('Id of the entry.', exampleIds.entry),
    form: orNull(Type.String(), 'Id of the form.', exampleIds.form),
    formName: Type.Optional(
      orNull(Type.String(), 'Name of the form. Only with `names=true`.', 'Household water survey'),
    ),
    agent: orNull(Type.String(), 'Id of the agent.', exampleIds.agent),
    agentName: Type.Optional(
      personal(orNull(Type.String(), 'Name of the agent. Only with `names=true`.', 'Amina Bello')),
    ),
    createdAt: orNull(
      Type.String({ format: 'date-time' }),
      'When the entry was created. ISO 8601 in UTC with milliseconds.',
      '2025-03-14T09:26:53.589Z',
    ),
    flags: Type.Array(Flag, { description: 'Why it needs a second look: the first 100 flags.' }),
    flagCount: Type.Integer({ description: 'How many flags it has.', examples: [1] }),
  },
  { title: 'CheckedEntry', description: 'An entry that needs a second look.' },
)
export type CheckedEntry = Static<typeof CheckedEntry>
export type Flag = Static<typeof Flag>

export const Share = Type.Object(
  {
    count: Type.Integer({ description: 'How many entries are flagged.', examples: [12] }),
    of: Type.Integer({ description: 'Of how many that could be checked.', examples: [40] }),
    share: orNull(Type.Number(), 'Which share that is, from 0 to 1.', 0.3),
    low: orNull(Type.Number(), 'The lower bound of the share: the 95 % interval of Wilson.', 0.181),
    high: orNull(Type.Number(), 'The upper bound.', 0.454),
  },
  { $id: 'FlaggedShare', description: 'How many entries of an agent are flagged.' },
)
export type Share = Static<typeof Share>

const Sameness = Type.Object(
  {
    form: orNull(Type.String(), 'Id of the form.', exampleIds.form),
    value: Type.Number({
      description: 'The mean share of the most frequent answer of each closed question.',
      examples: [0.97],
    }),
    expected,
    n,
  },
  { title: 'Sameness', description: SAMENESS },
)
export type Sameness = Static<typeof Sameness>

export const CheckedAgent = Type.Object(
  {
    agent: orNull(Type.String(), 'Id of the agent. Null has the entries without one.', exampleIds.agent),
    agentName: Type.Optional(
      personal(orNull(Type.String(), 'Name of the agent. Only with `names=true`.', 'Amina Bello')),
    ),
    entries: Type.Integer({ description: 'How many entries the agent submitted.', examples: [40] }),
    days: Type.Integer({ description: 'On how many days, by the clock of `zone`.', examples: [8] }),
    entriesPerDay: orNull(Type.Number(), 'How many entries a day with entries has.', 5),
    durationRatio: orNull(
      Type.Number(),
      'The median of the durations, each divided by the median of its form. 1 is as long as the others take.',
      0.12,
    ),
    durations: Type.Integer({ description: 'From how many durations that comes.', examples: [40] }),
    flagged: refTo(Share, 'Entries that any of the checks flags.'),
    ...Object.fromEntries(
      entryChecks.map((name) => {
        const share = refTo(Share, `Entries that \`${name}\` flags.`)
        return [name, Type.Optional(name === 'place' ? place(share) : share)]
      }),
    ),
    sameness: Type.Optional(Type.Array(Sameness, { description: `${SAMENESS} Only the forms where they are.` })),
  },
  { title: 'CheckedAgent', description: 'An agent, and how many of its entries need a second look.' },
)
export type CheckedAgent = Static<typeof CheckedAgent>

const metadata = Type.Object(
  {
    ...select(PageMetadata, ['total', 'perPage', 'pageCount', 'hasMore', 'unmatched', 'pageLinks']).properties,
    entries: Type.Integer({ description: 'How many entries were checked, of all agents.', examples: [1500] }),
    shown: Type.Integer({
      description:
        'How many rows the pages have together: as many of the first ones as fit, where not all can be kept.',
      examples: [31],
    }),
    statuses: Type.Array(
      Type.Object(
        {
          status: orNull(
            Type.String(),
            'The status, as a team gives it. Null has the entries without one.',
            'rejected',
          ),
          entries: Type.Integer({ description: 'How many of the checked entries have it.', examples: [40] }),
          flagged: Type.Integer({ description: 'How many of them are flagged.', examples: [31] }),
        },
        { title: 'CheckedStatus', description: 'How flags and the word of a team agree.' },
      ),
      { description: 'The most frequent statuses of the checked entries: at most 20.' },
    ),
    asOf: Timestamp('When the entries were checked.'),
  },
  { title: 'ChecksMetadata', description: 'What the rows are of.' },
)
export type CheckedStatus = Static<typeof metadata>['statuses'][number]
const response = (item: TSchema, title: string, order: string) =>
  Type.Object(
    { success, data: Type.Array(item, { description: order }), _metadata: metadata },
    { title, description: order },
  )
export const CheckedEntries = response(
  CheckedEntry,
  'CheckedEntries',
  'Flagged entries: those with most checks first, then the newest.',
)
export const CheckedAgents = response(
  CheckedAgent,
  'CheckedAgents',
  'Agents: the greatest lower bound of `flagged` first, then those whose answers are alike.',
)

const { zone, names, missing } = SummaryQuery.properties
const key = Type.String({ pattern: `^${KEY}$`, examples: ['3f9a0c11d2e4'] })
const parameters = {
  checks: choosing(
    Type.Object(Object.fromEntries(agentChecks.map((name) => [name, name === 'place' ? place(expected) : expected]))),
    several(literals(agentChecks, { title: 'CheckName', description: 'A check.' }), {
      uniqueItems: true,
      description: 'Only these checks, separated by commas, such as `short,copy`. By default all.',
    }),
  ),
  minEntries: defaulted(
    Type.Integer({
      minimum: 5,
      maximum: 10_000,
      description:
        'From how many values bounds are made: of the durations of a form, of the answers to a question, of the places of a state. Where there are fewer, there are no bounds. A quarter of it is the least number of entries of an agent for `sameness`, and of entries at one point.',
    }),
    20,
  ),
  zone: { ...zone, description: 'Time zone of the days of an agent (IANA), such as `Africa/Lagos`.' },
  names,
  missing,
  unique: several(key, {
    maxItems: 3,
    uniqueItems: true,
    description:
      'Keys of questions whose answers, taken together, one entry alone may have, such as the number of a household. Others are flagged `repeated`. Only with `form`.',
  }),
  questions: several(key, {
    maxItems: 50,
    uniqueItems: true,
    description: 'Keys of the questions that `number` looks at. By default all. Only with `form`.',
  }),
}
const filters = {
  ...entryFilters,
  agent: {
    ...entryFilters.agent,
    description: 'Id of the agent. Only what is shown is narrowed: the bounds are those of all agents.',
  },
  answered,
  ...commonFilters,
}
export interface ChecksQuery {
  readonly checks?: readonly Check[]
  readonly minEntries: number
  readonly zone: string
  readonly names?: 'true' | 'false'
  readonly missing?: readonly string[]
  readonly unique?: readonly string[]
  readonly questions?: readonly string[]
  readonly form?: string
  readonly agent?: string
  readonly page?: number
  readonly perPage?: number
}
export interface ChecksFileQuery extends ChecksQuery {
  readonly bom?: 'true' | 'false'
  readonly formulas?: 'keep'
}

export const ChecksListQuery = (limits: PageLimits) => {
  const { page, perPage } = paging(limits)
  const own = { ...page, description: 'Page number, from 1. A page beyond the last is empty.' }
  return strict({ ...parameters, page: own, perPage, ...filters }, { explode: false })
}
export const ChecksTableQuery = strict({ ...parameters, ...filters, ...csvParameters }, { explode: false })
