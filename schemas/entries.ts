// Entries: the answers that an agent gave to the form of a dispatch.
import { type Static, Type } from '@sinclair/typebox'
import { EntryAgent } from './agents.js'
import { Id, IdFilter, type PageLimits, paging, sorting, Text, Timestamp } from './common.js'
import { EntryDispatch } from './dispatches.js'
import { EntryForm } from './forms.js'
import { filter, refTo, strict } from './kit.js'
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
            description: 'Latitude in degrees (WGS 84), spelled as the contract has it.',
            examples: [11.9805],
          }),
        },
        { description: 'Where on the globe.' },
      ),
    ),
  },
  { $id: 'EntryLocation', description: 'Where the entry was made.' },
)

export const Answer = Type.Object(
  {
    type: Text('Type of the question, such as singleChoice or multiChoice.', 'singleChoice'),
    question: Text('Text of the question.', 'What is your main source of drinking water?'),
    answer: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description: 'A string when type is singleChoice, an array of strings when it is multiChoice.',
        examples: ['Borehole'],
      }),
    ),
  },
  { $id: 'Answer', description: 'The answer to one question.' },
)

const id = Id('Id of the entry.', '66e7a3f4b6c5d4001b6e5a61')
const status = Text('Status of the entry.', 'accepted')
const location = Type.Optional(refTo(EntryLocation, 'Where the entry was made.'))
const answers = Type.Array(refTo(Answer), { description: 'Answers, in the order of the questions.' })
const duration = Type.Optional(
  Type.Number({ description: 'How long the agent took, as recorded; the contract names no unit.', examples: [412] }),
)
const createdAt = Timestamp('When the entry was created.')
const updatedAt = Timestamp('When the entry was last changed.')

export type EntryListItem = Static<typeof EntryListItem>
export const EntryListItem = Type.Object(
  {
    id,
    status,
    dispatch: Type.Optional(Id('Id of the dispatch.', '63c5e1d2f4a3b2001d8c7e41')),
    form: Type.Optional(Id('Id of the form.', '61b0a3f4c2d5e6001f7a8b21')),
    project: Type.Optional(Id('Id of the project.', '62a1f0c4d3b2a1001e9f8d31')),
    agent: Type.Optional(Id('Id of the agent.', '60c72b2f9b1d8e001c8e4d11')),
    location,
    answers,
    duration,
    createdAt,
    updatedAt,
  },
  { $id: 'EntryListItem', description: 'An entry as lists show it: what it refers to is named by id.' },
)

export type Entry = Static<typeof Entry>
export const Entry = Type.Object(
  {
    id,
    status,
    dispatch: Type.Optional(refTo(EntryDispatch, 'The dispatch that the entry answers.')),
    form: Type.Optional(refTo(EntryForm, 'The form that the entry answers.')),
    project: Type.Optional(refTo(EntryProject, 'The project of the dispatch.')),
    agent: Type.Optional(refTo(EntryAgent, 'The agent who submitted the entry.')),
    location,
    answers,
    duration,
    createdAt,
    updatedAt,
  },
  { $id: 'Entry', description: 'An entry with all it refers to embedded.' },
)

export type EntryListQuery = Static<ReturnType<typeof EntryListQuery>>
export const EntryListQuery = (limits: PageLimits) =>
  strict({
    ...sorting(['createdAt', 'updatedAt', 'duration']),
    ...paging(limits),
    dispatch: IdFilter('Id of the dispatch.'),
    form: IdFilter('Id of the form.'),
    project: IdFilter('Id of the project.'),
    agent: IdFilter('Id of the agent.'),
    status: filter(Type.String({ minLength: 1, description: 'Status of the entry, such as `accepted`.' })),
  })
