// Every join of the service. Most are a $lookup by equality on an index, and then a check that the documents found
// belong to the caller's organisation, so that an id of another organisation's document finds nothing. The others are
// references, whose query has the caller's scope.
import type { TObject } from '@sinclair/typebox'
import type { CollectionName } from '../documents/collections.js'
import { type Expression, isWithin, type Scope, type Stage } from './stages.js'

/** The joined documents in `as` that belong to the scope's organisation. */
const ofOrganisation = ({ organisation }: Scope, as: string): Expression => ({
  $filter: { input: `$${as}`, cond: { $eq: ['$$this.organisation', { $literal: organisation }] } },
})

/**
 * Replaces the id in a field by its document, or removes the field if there is no such document. What is neither an id
 * nor null becomes an array, which the writer refuses: an object in place of an id must not pass as the document.
 */
export const embed =
  (from: CollectionName) =>
  (scope: Scope, field: string): Stage[] => [
    { $lookup: { from, localField: field, foreignField: '_id', as: 'joined' } },
    { $set: { [field]: { $cond: [isIdOrNull(field), { $first: ofOrganisation(scope, 'joined') }, []] } } },
  ]

const isIdOrNull = (field: string): Expression => ({
  $in: [{ $type: `$${field}` }, { $literal: ['string', 'objectId', 'null', 'undefined', 'missing'] }],
})

/** Fields that hold ids. Records of a collection are shown in place of the ids, and each record is fetched once. */
export interface ReferencesTo {
  readonly from: CollectionName
  readonly fields: readonly string[]
  readonly shown: TObject
}

export const embedAuthors = { createdBy: embed('users'), modifiedBy: embed('users') }

/** The same for a list. One admin may appear in many rows, so each is fetched once after the page was read. */
export const authorReferences = (shown: TObject): ReferencesTo => ({
  from: 'users',
  fields: Object.keys(embedAuthors),
  shown,
})

/**
 * Adds the dispatches of a project, only by their ids. Dispatches of any organisation may name the project, so the join
 * itself selects the dispatches of the caller: an index begins with both fields. The join also keeps the field that it joins
 * by; without it, a database may read all documents whole before it selects their fields.
 */
export const addDispatches = (scope: Scope): Stage[] => [
  {
    $lookup: {
      from: 'dispatches',
      localField: '_id',
      foreignField: 'project',
      pipeline: [
        { $match: { $and: [...isWithin(scope, 'dispatches'), { organisation: scope.organisation }] } },
        { $project: { organisation: 1, project: 1 } },
      ],
      as: 'dispatches',
    },
  },
  { $set: { dispatches: { $sortArray: { input: ofOrganisation(scope, 'dispatches'), sortBy: { _id: 1 } } } } },
]
