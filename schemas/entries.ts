// Entries: each holds the answers that an agent gave to the form of a dispatch.
import { type Static, Type } from '@sinclair/typebox'
import { EntryAgent } from './agents.js'
import { exampleIds, Id, IdFilter, listQuery, type PageLimits, StatusFilter, Text, Timestamp } from './common.js'
import { EntryDispatch } from './dispatches.js'
import { EntryForm } from './forms.js'
import { filter, idOr, joined, listed, literals, place, refTo, several, word } from './kit.js'
import { EntryProject } from './projects.js'

export const EntryLocation = Type.Object(
  {
    address: Type.Optional(Text('Street address.', '12 Zoo Road')),
    country: Type.Optional(Text('Country.', 'Nigeria')),
    state: Type.Optional(Text('State.', 'Kano')),
    lga: Type.Optional(Text('Local government area.', 'Tarauni')),
    city: Type.Optional(Text('City.', 'Kano')),
    coordinates: Type.Optional(
      Type.Object(
        {
          longitude: Type.Number({ description: 'Longitude in degrees (WGS 84).', examples: [8.5387] }),
          lattitude: Type.Number({
            description: 'Latitude in degrees (WGS 84). The spelling is part of the contract.',
            examples: [11.9805],
          }),
        },
        { title: 'Coordinates', description: 'Geographic coordinates.' },
      ),
    ),
  },
  { $id: 'EntryLocation', description: 'Where the entry was made. Not visible to a key without places.' },
)

const question = {
  type: word(['singleChoice', 'multiChoice'], { title: 'AnswerType', description: 'Type of the question.' }),
  question: Text('Text of the question.', 'What is your main source of drinking water?'),
}

export const Answer = Type.Object(
  {
    ...question,
    answer: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        title: 'AnswerValue',
        description:
          'A string if `type` is `singleChoice`, an array of strings if it is `multiChoice`, and either of them for other types. A record is shown as it is stored, so go by the value, or ask for `answers=list`: then it is always an array of strings.',
        examples: ['Borehole'],
      }),
    ),
  },
  { $id: 'Answer', description: 'The answer to one question.' },
)

/** The same with `answers=list`. */
export const ListedAnswer = Type.Object(
  { ...question, answer: Type.Optional(listed({ description: 'The answer, or all of them.' })) },
  { $id: Answer.$id as string },
)

/** Parameters of the list of entries, of an entry by id and of the feed. */
export const entryParameters = {
  answers: filter(
    literals(['list'], {
      title: 'AnswersForm',
      description:
        'With `list`, each `answer` is an array of strings: a single value is an array of one, and a number is its text. An answer without a value is left out as ever. By default an answer is shown as it is stored, a string or an array.',
    }),
  ),
}

const id = Id('Id of the entry.', exampleIds.entry)
const status = Text('Status of the entry.', 'accepted')
const location = Type.Optional(place(refTo(EntryLocation, 'Where the entry was made.')))
const answers = Type.Array(refTo(Answer), { description: 'Answers, in the order of the questions.' })
const duration = Type.Optional(
  Type.Number({ description: 'How long the agent took. The contract does not name the unit.', examples: [412] }),
)
const createdAt = Timestamp('When the entry was created.')
const updatedAt = Timestamp('When the entry was last changed.')

/** The fields of an entry that `expand` embeds. */
export const expandable = ['dispatch', 'form', 'project', 'agent'] as const

const EXPANDED = 'With `expand`, the object, as in an entry by id.'

export type EntryListItem = Static<typeof EntryListItem>
export const EntryListItem = Type.Object(
  {
    id,
    status,
    dispatch: idOr(EntryDispatch, 'Id of the dispatch', exampleIds.dispatch, EXPANDED),
    form: idOr(EntryForm, 'Id of the form', exampleIds.form, EXPANDED),
    project: idOr(EntryProject, 'Id of the project', exampleIds.project, EXPANDED),
    agent: idOr(EntryAgent, 'Id of the agent', exampleIds.agent, EXPANDED),
    location,
    answers,
    duration,
    createdAt,
    updatedAt,
  },
  {
    $id: 'EntryListItem',
    description: 'An entry in a list. Other records are referred to by their ids, unless `expand` embeds them.',
  },
)

export type Entry = Static<typeof Entry>
export const Entry = Type.Object(
  {
    id,
    status,
    dispatch: Type.Optional(joined(refTo(EntryDispatch, 'The dispatch that the entry answers.'))),
    form: Type.Optional(joined(refTo(EntryForm, 'The form that the entry answers.'))),
    project: Type.Optional(joined(refTo(EntryProject, 'The project of the dispatch.'))),
    agent: Type.Optional(joined(refTo(EntryAgent, 'The agent who submitted the entry.'))),
    location,
    answers,
    duration,
    createdAt,
    updatedAt,
  },
  { $id: 'Entry', description: 'An entry with the records that it refers to embedded.' },
)

/** A box on the map, in degrees. It crosses the antimeridian if its western side is greater than its eastern one. */
export interface Box {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

const PlaceFilter = (what: string, example: string) =>
  place(
    filter(
      Type.String({
        minLength: 1,
        description: `${what}, such as \`${example}\`. Matches the whole text.`,
      }),
    ),
  )

/** The filters by a place, and those by what an entry names. */
export const entryFilters = {
  dispatch: IdFilter('Id of the dispatch.'),
  form: IdFilter('Id of the form.'),
  project: IdFilter('Id of the project.'),
  agent: IdFilter('Id of the agent.'),
  status: StatusFilter('entry', 'accepted'),
  country: PlaceFilter('Country', 'Nigeria'),
  state: PlaceFilter('State', 'Kano'),
  lga: PlaceFilter('Local government area', 'Tarauni'),
  city: PlaceFilter('City', 'Kano'),
  bbox: place(
    filter(
      Type.Unsafe<Box>(
        Type.String({
          format: 'bbox',
          description:
            'Only in this box: `minLongitude,minLatitude,maxLongitude,maxLatitude` in degrees (WGS 84), such as `2.6,4.2,14.7,13.9`. Its edges belong to it. A box whose first longitude is greater than the other one crosses the antimeridian. Six numbers, with a height behind each latitude, are taken too; heights are ignored. An entry without coordinates is in no box.',
        }),
      ),
    ),
  ),
}

/** What the parameter `answered` asks for: a question by its key, and what its answer is. */
export interface Answered {
  readonly key: string
  /** Undefined for any answer. */
  readonly answer?: string
  /** The text of the question, once it was found by its key. */
  readonly question?: string
}

/** How many answers a request may ask for. */
const MAX_ASKED = 4

/** The filter by answers. */
export const answered = Type.Optional(
  Type.Unsafe<Answered[]>({
    type: 'array',
    items: { type: 'string', format: 'answered' },
    minItems: 1,
    maxItems: MAX_ASKED,
    explode: true,
    description: `Only with an answer to a question, by its key: \`3f9a0c11d2e4\`, or this answer: \`3f9a0c11d2e4=Borehole\`. \`GET /v1/forms/{id}/questions\` has the keys. An answer may be one of several choices. Up to ${MAX_ASKED} times, and all must hold. Only with \`form\`.`,
  }),
)

export type EntryListQuery = Static<ReturnType<typeof EntryListQuery>>
export const EntryListQuery = (limits: PageLimits) =>
  listQuery(
    'Entry',
    EntryListItem,
    limits,
    ['createdAt', 'updatedAt', 'duration'],
    { ...entryFilters, answered },
    {
      ...entryParameters,
      expand: several(literals(expandable, { title: 'EntryExpansion', description: 'A field that can be expanded.' }), {
        description:
          'Embeds the records that these fields refer to, as in an entry by id. Separated by commas, such as `form,agent`.',
      }),
    },
  )
