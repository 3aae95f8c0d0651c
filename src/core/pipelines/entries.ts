// The resource entries.
import { EntryAgent } from '../../../schemas/agents.js'
import { EntryDispatch } from '../../../schemas/dispatches.js'
import { MAX_LONGITUDE } from '../../../schemas/earth.js'
import { type Answered, Entry, EntryListItem, EntryListQuery, entryParameters } from '../../../schemas/entries.js'
import { EntryForm } from '../../../schemas/forms.js'
import { select } from '../../../schemas/kit.js'
import { EntryProject } from '../../../schemas/projects.js'
import { embed } from './joins.js'
import { defineResource, equal } from './resource.js'
import type { Condition } from './stages.js'

/** A number is found by its text too. */
const isAnswer = (answer: string): Condition =>
  String(Number(answer)) === answer ? { $in: [answer, Number(answer)] } : { $eq: answer }

/** An answer is a text or a number, or a list with one. */
const $type = ['string', 'double', 'int', 'long']

const isAnswered = ({ question, answer }: Answered): Condition => ({
  answers: { $elemMatch: { question, answer: { $type, ...(answer !== undefined && isAnswer(answer)) } } },
})

export const entries = defineResource<EntryListQuery>({
  collection: 'entries',
  name: 'entry',
  article: 'an',
  tag: { name: 'Entries', description: 'Answers to the form of a dispatch' },
  descriptions: {
    list: 'Entries with all their answers. For a small response choose `fields`; for the records that an entry names, such as its agent, use `expand` instead of one request for each. To keep a copy, use the change feed.',
    get: 'An entry with its dispatch, form, project and agent in full. To read many entries, use the list with `ids` and `expand`.',
  },
  query: EntryListQuery,
  parameters: entryParameters,
  filters: {
    ...equal('dispatch', 'form', 'project', 'agent', 'status'),
    country: (text) => ({ 'location.country': text }),
    state: (text) => ({ 'location.state': text }),
    lga: (text) => ({ 'location.lga': text }),
    city: (text) => ({ 'location.city': text }),
    answered: (all) => ({ $and: all.map(isAnswered) }),
    bbox: ({ west, south, east, north }) => {
      const between = ($gte: number, $lte: number) => ({
        'location.coordinates.longitude': { $gte, $lte },
        'location.coordinates.lattitude': { $gte: south, $lte: north },
      })
      return west <= east ? between(west, east) : { $or: [between(west, MAX_LONGITUDE), between(-MAX_LONGITUDE, east)] }
    },
  },
  item: {
    schema: EntryListItem,
    expandable: [
      { from: 'dispatches', fields: ['dispatch'], shown: EntryDispatch },
      { from: 'forms', fields: ['form'], shown: EntryForm },
      { from: 'projects', fields: ['project'], shown: EntryProject },
      { from: 'agents', fields: ['agent'], shown: EntryAgent },
    ],
    joined: {
      dispatch: { from: 'dispatches', shown: select(EntryDispatch, ['name']) },
      form: { from: 'forms', shown: select(EntryForm, ['name']) },
      project: { from: 'projects', shown: select(EntryProject, ['name']) },
      agent: { from: 'agents', shown: select(EntryAgent, ['firstName', 'lastName']) },
    },
  },
  record: {
    schema: Entry,
    stages: { dispatch: embed('dispatches'), form: embed('forms'), project: embed('projects'), agent: embed('agents') },
  },
})
