// Every join of the system. It is a $lookup by equality on an index, and then the check that what it found belongs to the
// caller's organisation: an id that points at another organisation's document finds nothing.
import type { CollectionName } from '../documents/collections.js'
import { type Expression, Query, type References, type Scope, type Stage } from './stages.js'

export const authorFields = ['createdBy', 'modifiedBy']

/** Of the joined documents in `as`, those of the scope's organisation. */
const own = ({ organisation }: Scope, as: string): Expression => ({
  $filter: { input: `$${as}`, cond: { $eq: ['$$this.organisation', { $literal: organisation }] } },
})

/** Puts the document that `field` names in its place; takes the field away when there is none. */
const embed = (scope: Scope, from: CollectionName, field: string): Stage[] => [
  { $lookup: { from, localField: field, foreignField: '_id', as: field } },
  { $set: { [field]: { $first: own(scope, field) } } },
]

/** The admins who made and last changed a dispatch or a project. */
export const embedAuthors = (scope: Scope): Stage[] => authorFields.flatMap((field) => embed(scope, 'users', field))

/**
 * The same for a list, where one admin stands in many rows: after the page is read each is fetched once.
 * @param kept keeps the fields of an admin that the list shows
 */
export const authorReferences = (scope: Scope, kept: Stage): References => ({
  fields: authorFields,
  find: (ids) => Query.in(scope, 'users', [{ _id: { $in: ids } }], [kept]),
})

export const embedForm = (scope: Scope): Stage[] => embed(scope, 'forms', 'form')

export const embedProject = (scope: Scope): Stage[] => embed(scope, 'projects', 'project')

export const embedDispatch = (scope: Scope): Stage[] => embed(scope, 'dispatches', 'dispatch')

export const embedAgent = (scope: Scope): Stage[] => embed(scope, 'agents', 'agent')

export const recipientsField = 'recipients.agents'

/**
 * The recipients of a dispatch, of which there may be thousands, in the order of their ids. A $lookup gives them in the
 * collection's order, and an expression that puts them into another takes time by the square of their number.
 * @param kept keeps the fields of an agent that are shown
 */
export const recipientReferences = (scope: Scope, kept: Stage): References => ({
  fields: [recipientsField],
  find: (ids) => Query.in(scope, 'agents', [{ _id: { $in: ids } }], [kept]),
})

/**
 * Adds the dispatches of a project, by id alone. Those of any organisation may name it, so the join asks for the caller's:
 * an index begins with both fields. It keeps the field that it joins by, or a database may narrow the documents only when
 * it has all of them together.
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
