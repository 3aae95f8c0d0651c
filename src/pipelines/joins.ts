// Every join of the service. Most are a $lookup by equality on an index, and then a check that the documents found
// belong to the caller's organisation, so that an id of another organisation's document finds nothing. The others are
// references, whose query has the caller's scope.
import { EntryAgent } from '../../schemas/agents.js'
import { EntryDispatch } from '../../schemas/dispatches.js'
import type { expandable } from '../../schemas/entries.js'
import { EntryForm } from '../../schemas/forms.js'
import { EntryProject } from '../../schemas/projects.js'
import type { CollectionName } from '../documents/collections.js'
import { type Expression, pick, Query, type References, type Scope, type Stage } from './stages.js'

export const authorFields = ['createdBy', 'modifiedBy']

/** The joined documents in `as` that belong to the scope's organisation. */
const own = ({ organisation }: Scope, as: string): Expression => ({
  $filter: { input: `$${as}`, cond: { $eq: ['$$this.organisation', { $literal: organisation }] } },
})

/**
 * Replaces the id in `field` by its document, or removes the field if there is no such document. What is neither an id
 * nor null becomes an array, which the serializer refuses: an object in place of an id must not pass as the document.
 */
const embed = (scope: Scope, from: CollectionName, field: string): Stage[] => [
  { $lookup: { from, localField: field, foreignField: '_id', as: 'joined' } },
  { $set: { [field]: { $cond: [isIdOrNull(field), { $first: own(scope, 'joined') }, []] } } },
]

const isIdOrNull = (field: string): Expression => ({
  $in: [{ $type: `$${field}` }, { $literal: ['string', 'objectId', 'null', 'undefined', 'missing'] }],
})

/** Embeds the admins who created and last changed a dispatch or a project. */
export const embedAuthors = (scope: Scope): Stage[] => authorFields.flatMap((field) => embed(scope, 'users', field))

/**
 * The same for a list. One admin may appear in many rows, so each is fetched once after the page was read.
 * @param kept selects the fields of an admin that the list shows
 */
export const authorReferences = (scope: Scope, kept: Stage): References =>
  referencesTo('users', scope, authorFields, kept)

/** Replaces the ids in some fields by the documents with these ids, each of which is fetched once. */
const referencesTo = (
  collection: CollectionName,
  scope: Scope,
  fields: readonly string[],
  kept: Stage,
): References => ({ fields, find: (ids) => Query.in(scope, collection, [{ _id: { $in: ids } }], [kept]) })

export const embedForm = (scope: Scope): Stage[] => embed(scope, 'forms', 'form')

export const embedProject = (scope: Scope): Stage[] => embed(scope, 'projects', 'project')

export const embedDispatch = (scope: Scope): Stage[] => embed(scope, 'dispatches', 'dispatch')

export const embedAgent = (scope: Scope): Stage[] => embed(scope, 'agents', 'agent')

export const recipientsField = 'recipients.agents'

/**
 * The recipients of a dispatch, in the order in which the dispatch names them. There may be thousands. A $lookup
 * returns them in the collection's order, and an expression that restores their order takes quadratic time.
 * @param kept selects the fields of an agent that the response shows
 */
export const recipientReferences = (scope: Scope, kept: Stage): References =>
  referencesTo('agents', scope, [recipientsField], kept)

/** The collection of the records that each field of an entry refers to, and the fields that an entry shows of them. */
const ofEntry: Readonly<Record<(typeof expandable)[number], { from: CollectionName; kept: Stage }>> = {
  dispatch: { from: 'dispatches', kept: pick(EntryDispatch) },
  form: { from: 'forms', kept: pick(EntryForm) },
  project: { from: 'projects', kept: pick(EntryProject) },
  agent: { from: 'agents', kept: pick(EntryAgent) },
}

/** Embeds in entries of a list what an entry by id embeds. */
export const entryReferences = (scope: Scope, fields: Iterable<(typeof expandable)[number]>): References[] =>
  Array.from(fields, (field) => referencesTo(ofEntry[field].from, scope, [field], ofEntry[field].kept))

/**
 * Adds the dispatches of a project, only by their ids. Dispatches of any organisation may name the project, so the join
 * itself selects those of the caller's: an index begins with both fields. The join also keeps the field that it joins
 * by; without it, a database may read all documents whole before it selects their fields.
 */
export const addDispatches = (scope: Scope): Stage[] => [
  {
    $lookup: {
      from: 'dispatches',
      localField: '_id',
      foreignField: 'project',
      pipeline: [{ $match: { organisation: scope.organisation } }, { $project: { organisation: 1, project: 1 } }],
      as: 'dispatches',
    },
  },
  { $set: { dispatches: { $sortArray: { input: own(scope, 'dispatches'), sortBy: { _id: 1 } } } } },
]
