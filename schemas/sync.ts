// The change feed of a resource, by which a partner keeps a copy, and the digest, by which it checks the copy.
import { type Static, type StringOptions, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { exampleIds, exampleOrganisation, type PageLimits, paging, Timestamp, unreadable } from './common.js'
import { nameOf, unreadable as skipped, success } from './envelope.js'
import { constant, defaulted, filter, flat, inWords, refTo, several, strict } from './kit.js'

/** The longest time that a request may wait for a change, in seconds. */
export const MAX_WAIT_S = 60

/** How many projects or forms a part of a feed may have. */
const MAX_PARTS = 10

const partBy = (kind: 'project' | 'form') =>
  several(Type.String({ minLength: 1, pattern: '^[^,]+$' }), {
    maxItems: MAX_PARTS,
    description: `Only records of one of these ${kind}s: up to ${MAX_PARTS} ids, separated by commas. Repeat it beside each cursor. A record that leaves them comes as a deletion.`,
  })
/** The parameters that ask for a part of what the key sees. */
export const parts = { project: partBy('project'), form: partBy('form') }

type Parts = { readonly [P in keyof typeof parts]?: readonly string[] }

export type FeedQuery = Static<ReturnType<typeof FeedQuery>> & { readonly answers?: 'list' } & Parts
/** @param more parameters of the resource */
export const FeedQuery = (limits: PageLimits, more: TProperties = {}) =>
  strict(
    {
      cursor: filter(
        Type.String({
          minLength: 1,
          description:
            'The `nextCursor` of the page before. Without it, or with `*`, the feed begins at the start. The feed takes no filters but those that it tells of when a record leaves them.',
        }),
      ),
      changedSince: filter(
        Type.Unsafe<Date>(
          Type.String({
            format: 'date-time',
            description:
              'For tools that keep a time instead of a cursor: begins with what was changed at this time (RFC 3339) or later, such as the newest `changedAt` of the run before; `1970-01-01T00:00:00Z` begins at the start. It shows a change when it has settled, some seconds late (`settleMs` of `GET /v1/me`). Go on by `cursor`; beside it, this parameter counts for nothing. After a day without changes, the last item is the deletion of a record `checkpoint` that nobody has: its `changedAt` is a later time to begin from.',
          }),
        ),
      ),
      perPage: paging(limits).perPage,
      wait: defaulted(
        Type.Integer({
          minimum: 0,
          maximum: MAX_WAIT_S,
          description:
            'How many seconds the request stays open while there is nothing to show. It ends as soon as there is something, or else with an empty page.',
          examples: [0],
        }),
        0,
      ),
      unreadable: unreadable('By default an item stands for each of them.'),
      ...more,
      organisation: filter(
        Type.String({
          minLength: 1,
          maxLength: 1000,
          description:
            'The id of the organisation that the copy is of (`GET /v1/me`). A key of another one is refused, so that no copy mixes two of them.',
          examples: [exampleOrganisation],
        }),
      ),
    },
    { explode: false },
  )

const recordId = (description: string) => Type.String({ description, examples: [exampleIds.entry] })

/** The field of a feed's items that no record stores under this name. The serializer adds it, as the last. */
export const changedAt = Type.Optional(
  Timestamp(
    'When the record was last changed, as the feed is ordered. Left out for a record that was stored without a change stamp.',
  ),
)

/** A record as a feed shows it: as it is stored, with the ids of other records. */
export const changed = (item: TObject): TObject => {
  const name = nameOf(item)
  return Type.Object(
    { ...flat(item), changedAt },
    {
      $id: `Changed${name}`,
      description: `What a feed shows of a record: the fields of \`${item.$id}\`, with the ids of other records in place of these.`,
    },
  )
}

export const DeletedRecord = Type.Object(
  {
    id: recordId('Id of the record that was deleted.'),
    deleted: constant(true, 'True: remove the record from the copy.'),
    deletedAt: Timestamp('When the record was deleted, or was last changed after it had left the part.'),
    changedAt,
  },
  { $id: 'DeletedRecord', description: 'What a feed shows of a record that was deleted, or has left a part.' },
)

export const UnreadableRecord = Type.Object(
  {
    id: recordId('Id of the record.'),
    unreadable: constant(
      true,
      'True: the record does not fit its schema, so it cannot be shown. It comes again when it is mended.',
    ),
    message: Type.String({ description: 'What does not fit.', examples: ['answers is BSON string, not an array'] }),
    changedAt,
  },
  { $id: 'UnreadableRecord', description: 'What a feed shows of a record that does not fit its schema.' },
)

export const FeedMetadata = Type.Object(
  {
    perPage: Type.Integer({ description: 'Page size in effect.', examples: [50] }),
    hasMore: Type.Boolean({ description: 'Whether more can be read at once.', examples: [false] }),
    nextCursor: Type.String({
      description: 'The cursor for the next request. Keep it, also that of the last page: the next run begins with it.',
      examples: ['AdbVt5Yh3n9pWzE3MzE5NDU2MTMwMDAsMTczMTk0NTYxMzAwMCxudWxsXQ'],
    }),
    unreadable: skipped,
  },
  { $id: 'FeedMetadata', description: 'How to go on in a feed.' },
)

/**
 * `{success, data: […], _metadata}`: a page of the feed of a resource. The order of the items' schemas matters to the
 * serializer.
 */
export const feedPage = (item: TObject) =>
  Type.Object(
    {
      success,
      data: Type.Array(
        Type.Union([refTo(changed(item)), refTo(DeletedRecord), refTo(UnreadableRecord)], {
          title: `${nameOf(item)}Change`,
          description: 'A record as it is now, or what stands for one that was deleted or does not fit its schema.',
        }),
        {
          description:
            'Changes in the order in which they were made. A record comes at least once after each of its changes, as it is when the page is read.',
        },
      ),
      _metadata: refTo(FeedMetadata),
    },
    {
      title: `${nameOf(item)}FeedPage`,
      description: `A page of changes. Each is a record, or stands for one that was deleted or does not fit.`,
    },
  )

const idBound = (description: string, options: StringOptions = {}) =>
  filter(Type.String({ minLength: 1, ...options, description }))

/** How many bounds a digest may have. */
const MAX_BOUNDS = 100

export type DigestQuery = Static<ReturnType<typeof DigestQuery>> & Parts
/** @param more parameters of the resource */
export const DigestQuery = (more: TProperties = {}) =>
  strict(
    {
      from: idBound('The first id that counts. Without it the ranges begin with the smallest id.'),
      to: idBound('The id before which the last range ends. Without it the ranges end with the greatest id.'),
      bounds: inWords(
        `up to ${MAX_BOUNDS} ids that are separated by commas, none of them empty`,
        idBound(
          `Up to ${MAX_BOUNDS} ids, separated by commas, in ascending order of their UTF-8 bytes, greater than \`from\` and less than \`to\`. A new range begins with each. An id that contains a comma cannot be a bound.`,
          { pattern: `^[^,]+(,[^,]+){0,${MAX_BOUNDS - 1}}$` },
        ),
      ),
      ...more,
    },
    { explode: false },
  )

export type RangeDigest = Static<typeof RangeDigest>
export const RangeDigest = Type.Object(
  {
    from: Type.Optional(recordId('The first id that counts. Left out if the range has no lower end.')),
    to: Type.Optional(recordId('The id before which the range ends. Left out if it has no upper end.')),
    count: Type.Integer({ description: 'Number of records with an id in the range.', examples: [2500] }),
    updatedAtSum: Type.String({
      description:
        'Sum of `updatedAt` of these records, in milliseconds since 1970, as decimal digits: it may exceed 2^53. A record whose `updatedAt` is missing or not a date counts as 0.',
      examples: ['4354863974000000'],
    }),
  },
  { $id: 'RangeDigest', description: 'Count and sum of a range of ids.' },
)

export const DigestMetadata = Type.Object(
  {
    asOf: Timestamp('When the first range was read, or shortly before, by the clock of the database.'),
  },
  { $id: 'DigestMetadata', description: 'The time of a digest.' },
)

export const DigestPage = Type.Object(
  {
    success,
    data: Type.Array(refTo(RangeDigest), { description: 'The ranges that the bounds make, in order.' }),
    _metadata: refTo(DigestMetadata),
  },
  { title: 'DigestResponse', description: 'Digests of consecutive ranges of ids.' },
)
