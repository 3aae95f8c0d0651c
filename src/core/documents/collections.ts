// The stored documents: name and schema of each collection. Records also have a change stamp, and a deleted record leaves a
// tombstone in its place. The store writes both, by the clock of the database, so they are in no schema. docs/data.md tells
// other writers how to write them.
import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { dispatchStatuses, dispatchTypes } from '../../../schemas/dispatches.js'
import { hideable, strict } from '../../../schemas/kit.js'

/**
 * An identifier. The limit makes sure that it fits into a URL, even if every character is percent-encoded. Control
 * characters would be invisible in it or end a line, and many programs take NUL for its end.
 */
export const id = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$',
  description: 'must not contain control characters',
})
/** The change feed names it as a deleted record that nobody has (docs/data.md). */
export const CHECKPOINT = 'checkpoint'
const recordId = Type.String({
  ...id,
  pattern: `^(?!${CHECKPOINT}$)${id.pattern?.slice(1)}`,
  description: `must not be ${CHECKPOINT}, and must not contain control characters`,
})
/** None of its characters has a special meaning in conditions, in the log or on terminals. */
export const ORGANISATION_ID = /^[0-9A-Za-z][0-9A-Za-z._:-]{0,99}$/
const organisationId = Type.String({
  pattern: ORGANISATION_ID.source,
  description:
    'must be 1 to 100 letters, digits, dots, underscores, colons and dashes, starting with a letter or digit',
})
const owned = { _id: recordId, organisation: organisationId }
/** A point in time. The limits are those of JSON Schema's date-time, which has years of four digits and no year 0. */
const instant = Type.Date({
  minimumTimestamp: Date.parse('0001-01-01T00:00:00.000Z'),
  maximumTimestamp: Date.parse('9999-12-31T23:59:59.999Z'),
})
const dated = { createdAt: instant, updatedAt: instant }
/** One of the strings. It is not an `enum`, because TypeBox does not check one. */
const oneOf = <const V extends readonly string[]>(values: V) =>
  Type.Unsafe<V[number]>(Type.Union(values.map((value) => Type.Literal(value))))
/** A name that lists are sorted by. The limit makes sure that it fits into a cursor, whatever its characters are. */
const sortedName = Type.String({ maxLength: 250 })
const optionalText = Type.Optional(Type.String())
const optionalInstant = Type.Optional(instant)
const authored = { createdBy: Type.Optional(id), modifiedBy: Type.Optional(id) }
const upTo50 = <T extends TSchema>(item: T) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: 50, uniqueItems: true }))
const dateOrNone = Type.Optional(Type.Union([Type.Date(), Type.Null()]))

const person = {
  ...owned,
  status: Type.String(),
  firstName: Type.String(),
  lastName: Type.String(),
  email: optionalText,
  ...dated,
  lastLogin: optionalInstant,
}

/** @param filters the fields by which a list of the collection is filtered, each of which has an index */
const collection = <P extends TProperties>(filters: readonly string[], properties: P) => ({
  filters,
  schema: strict(properties),
})

export const collections = {
  organisations: collection([], { _id: organisationId, name: Type.String(), ...dated }),
  users: collection(['status'], { ...person, role: Type.Optional(strict({ name: Type.String() })) }),
  agents: collection(['status'], {
    ...person,
    phone: optionalText,
    location: Type.Array(
      strict({ country: optionalText, zone: optionalText, state: optionalText, city: optionalText }),
    ),
  }),
  forms: collection(['status', 'name'], {
    ...owned,
    dispatched: Type.Boolean(),
    status: Type.String(),
    name: sortedName,
    sector: optionalText,
    reason: optionalText,
    ...dated,
  }),
  projects: collection(['name'], { ...owned, name: sortedName, ...authored, ...dated }),
  dispatches: collection(['dispatchType', 'status', 'form', 'project', 'recipients.agents', 'name'], {
    ...owned,
    instructions: Type.Optional(strict({ instructions: optionalText, attachments: Type.Array(Type.Unknown()) })),
    recipients: strict({ agents: Type.Array(id), agentGroups: Type.Array(id) }),
    dispatchType: oneOf(dispatchTypes),
    status: oneOf(dispatchStatuses),
    name: sortedName,
    startDate: optionalInstant,
    dueDate: optionalInstant,
    form: Type.Optional(id),
    project: Type.Optional(id),
    totalExpectedEntries: Type.Optional(Type.Number()),
    ...authored,
    ...dated,
  }),
  entries: collection(['status', 'form', 'agent', 'project', 'dispatch', 'location.state'], {
    ...owned,
    status: Type.String(),
    dispatch: Type.Optional(id),
    form: Type.Optional(id),
    project: Type.Optional(id),
    agent: Type.Optional(id),
    location: Type.Optional(
      strict({
        address: optionalText,
        country: optionalText,
        state: optionalText,
        lga: optionalText,
        city: optionalText,
        coordinates: Type.Optional(strict({ longitude: Type.Number(), lattitude: Type.Number() })),
      }),
    ),
    answers: Type.Array(
      strict({
        type: Type.String(),
        question: Type.String(),
        answer: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
      }),
    ),
    duration: Type.Optional(Type.Number()),
    ...dated,
  }),
  /** An API key. `_id` is the id of the key, and `hash` is what `hashOf` makes of it. The key itself is not stored. */
  apiKeys: collection([], {
    ...owned,
    name: Type.String(),
    hash: Type.String({ pattern: '^(restricted:)?[0-9a-f]{64}$' }),
    createdAt: Type.Date(),
    expiresAt: dateOrNone,
    revokedAt: dateOrNone,
    lastUsedAt: dateOrNone,
    without: Type.Optional(Type.Array(oneOf(hideable), { minItems: 1, uniqueItems: true })),
    only: Type.Optional(strict({ project: upTo50(id), form: upTo50(id) }, { minProperties: 1 })),
    /** The addresses and ranges in CIDR notation from which it may be used. */
    from: upTo50(Type.String({ format: 'address' })),
    /** Who issued and who revoked it, as the command was told. */
    issuedBy: optionalText,
    revokedBy: optionalText,
    successor: optionalText,
  }),
  /** Says that demo data was written. `_id` names its options. */
  seeds: collection([], { _id: id, createdAt: Type.Date() }),
}

export const CHANGED_AT = 'changedAt'

export type CollectionName = keyof typeof collections
export const collectionNames = Object.keys(collections) as CollectionName[]

/** The collections of records, which callers can read. Each depends only on those before it. */
export const recordCollections = ['users', 'agents', 'forms', 'projects', 'dispatches', 'entries'] as const

export type RecordCollection = (typeof recordCollections)[number]

export const restrictions = ['project', 'form'] as const
/** The ids of the projects and of the forms whose records a key sees. With both, a record is of one of each. */
export type Only = { readonly [R in (typeof restrictions)[number]]?: readonly string[] }

/** The field by which a collection is narrowed to some projects or forms. What has no such field, such a key does not see. */
export const narrowedBy: { readonly [C in CollectionName]?: { readonly [R in keyof Only]: string } } = {
  entries: { project: 'project', form: 'form' },
  dispatches: { project: 'project', form: 'form' },
  projects: { project: '_id' },
  forms: { form: '_id' },
}

/** Whether records of a collection name both a project and a form. Then every key may see some, and a feed may show a part. */
export const hasParts = (name: CollectionName): boolean => restrictions.every((kind) => narrowedBy[name]?.[kind])

/** The fields in which a record that has left a project or a form has their ids. Writers keep them (docs/data.md). */
export const former = { project: 'formerProjects', form: 'formerForms' } as const

export const isRecordCollection = (name: CollectionName): name is RecordCollection =>
  (recordCollections as readonly string[]).includes(name)

/** The condition of records without a change stamp. A stamp is a date; an array that contains a date is not a stamp. */
export const UNSTAMPED = {
  organisation: { $exists: true },
  $or: [{ [CHANGED_AT]: { $not: { $type: 'date' } } }, { [CHANGED_AT]: { $type: 'array' } }],
}

/** The fields of a tombstone, which replaces a deleted record. The second names the organisation in place of `organisation`. */
export const DELETED_AT = 'deletedAt'
export const DELETED_FROM = 'deletedFrom'

const authors = { createdBy: 'users', modifiedBy: 'users' } as const

/** The fields that hold an id or an array of ids, and the collection that each refers to. */
export const references: { readonly [C in CollectionName]?: Readonly<Record<string, CollectionName>> } = {
  projects: authors,
  dispatches: { 'recipients.agents': 'agents', form: 'forms', project: 'projects', ...authors },
  entries: { dispatch: 'dispatches', form: 'forms', project: 'projects', agent: 'agents' },
  apiKeys: { 'only.form': 'forms', 'only.project': 'projects' },
}

export type Documents = { [C in CollectionName]: Static<(typeof collections)[C]['schema']> }
export type OrganisationDocument = Documents['organisations']
export type UserDocument = Documents['users']
export type AgentDocument = Documents['agents']
export type FormDocument = Documents['forms']
export type ProjectDocument = Documents['projects']
export type DispatchDocument = Documents['dispatches']
export type EntryDocument = Documents['entries']
export type ApiKeyDocument = Documents['apiKeys']
