// What all resources share: identifiers, timestamps, and the parameters of lists.
import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { choosing, defaulted, excluding, filter, inWords, literals, several, strict } from './kit.js'

/** The ids in examples: those of records of the demo data. */
export const exampleIds = {
  agent: '64e235dd0000020000000020',
  dispatch: '65850cb40000050000000000',
  entry: '659256e80000060000000000',
  form: '650442070000030000000000',
  project: '6545af600000040000000003',
  user: '649963030000010000000000',
} as const
export const exampleOrganisation = '648b1f5f0000000000000000'

/** An identifier: an opaque string, usually of 24 hexadecimal digits that sort by the time of creation. */
export const Id = (description: string, example = '665f1c2ab8d4e0a1c3f20b17') =>
  Type.String({ description, examples: [example] })

/** A record by its id alone. */
export const reference = (resource: string, example: string) =>
  Type.Object(
    { id: Id(`Id of the record.`, example) },
    { title: `${resource}Reference`, description: 'A record by its id.' },
  )

/** A point in time, always in UTC and with milliseconds. */
export const Timestamp = (description: string, example = '2025-03-14T09:26:53.589Z') =>
  Type.String({
    format: 'date-time',
    description: `${description} ISO 8601 in UTC with milliseconds.`,
    examples: [example],
  })

export const Text = (description: string, example: string) => Type.String({ description, examples: [example] })

/** The paging defaults of a list, and its largest page size. */
export interface PageLimits {
  page: number
  perPage: number
  maxPerPage: number
}

/** The longest URL that the service accepts, in bytes. RFC 9110, section 4.1, recommends at least 8000. */
export const MAX_URL_BYTES = 8000
/** The largest body of a request, in bytes. */
export const MAX_BODY_BYTES = 16 * 1024

/** The highest page number. No list is long enough to reach it. */
export const MAX_PAGE = 2_147_483_647

/** The parameters that select a page: `page`, `perPage`, `total`, `cursor` and `after`. */
export const paging = (limits: PageLimits) => ({
  page: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      description: `Page number, from 1; by default ${limits.page}. A page beyond the last is empty. To read a whole list, use \`cursor\`, or follow the links.`,
    }),
    limits.page,
  ),
  perPage: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: limits.maxPerPage,
      description: 'Page size: the maximum number of records on a page.',
      examples: [limits.perPage],
    }),
    limits.perPage,
  ),
  total: filter(
    literals(['true', 'false'], {
      title: 'TrueOrFalse',
      description:
        'Whether `_metadata` has the total, which takes time to count. By default it does, except with `cursor`. Without it, an `ETag` changes only with the records of the page and with what its links lead to.',
    }),
  ),
  cursor: excluding(
    ['page', 'after'],
    filter(
      Type.String({
        minLength: 1,
        description:
          'Reads a whole list, page after page: `*` begins, and the `nextCursor` of each response goes on. Repeat the filters and the order, and leave out `page` and `after`. No record is skipped or repeated because others are added or deleted.',
      }),
    ),
  ),
  after: filter(
    Type.String({
      minLength: 1,
      description:
        'The position at which the page begins or ends, as the links `next` and `previous` have it. `page` then only numbers the page.',
    }),
  ),
})

/**
 * The parameters `sortBy` and `sortOrder`. The id is always the last sort key, in the same direction.
 * @param item what the list shows of each record
 */
export const sorting = <const F extends readonly string[]>(resource: string, item: TObject, fields: F) => ({
  sortBy: choosing(
    item,
    defaulted(
      literals(['id', ...fields], {
        title: `${resource}SortBy`,
        description:
          'Field to sort by. Records with the same value are sorted by their ids. A filter by time is fast with the sort of its field.',
      }),
      'id',
    ),
  ),
  sortOrder: defaulted(
    literals(['asc', 'desc'], { title: 'SortDirection', description: 'Direction of the sort.' }),
    'asc',
  ),
})

/** A filter by an identifier. */
export const IdFilter = (description: string) => filter(Type.String({ minLength: 1, description }))

/** A filter by the name of a resource. */
export const NameFilter = (resource: string) =>
  filter(Type.String({ minLength: 1, description: `Name of the ${resource}. Matches the whole name, case-sensitive.` }))

/** A filter by a status that may be any word. None has a comma or semicolon, so these are a mistake in the URL. */
export const StatusFilter = (resource: string, example: string) =>
  filter(
    inWords(
      'one status without comma and semicolon: each status needs a request of its own, and & separates parameters',
      Type.String({
        minLength: 1,
        pattern: '^[^,;]*$',
        description: `Status of the ${resource}, such as \`${example}\`. One, without commas and semicolons.`,
      }),
    ),
  )

/** How many ids the parameter `ids` takes. */
export const MAX_IDS = 100

const time = (field: string, condition: string) =>
  filter(
    Type.Unsafe<Date>(
      Type.String({
        format: 'date-time',
        description: `Only with \`${field}\` ${condition} this time (RFC 3339). Digits beyond milliseconds are cut off.`,
      }),
    ),
  )

/** The filters that every list has: by ids, by a range of ids as digests have it, and by time. */
export const commonFilters = {
  ids: several(Type.String({ minLength: 1, pattern: '^[^,]*[^,\\s][^,]*$' }), {
    maxItems: MAX_IDS,
    description: `Only records with one of these ids: up to ${MAX_IDS}, separated by commas. Ids without a record are ignored. An id with a comma in it, or white space at an end, cannot be given here.`,
  }),
  idFrom: filter(
    Type.String({
      minLength: 1,
      description: 'Only records with this id or a greater one, in the order of UTF-8 bytes.',
    }),
  ),
  idTo: filter(Type.String({ minLength: 1, description: 'Only records with a smaller id.' })),
  updatedSince: time('updatedAt', 'at or after'),
  updatedBefore: time('updatedAt', 'before'),
  createdSince: time('createdAt', 'at or after'),
  createdBefore: time('createdAt', 'before'),
}

export type CommonFilters = { [F in keyof typeof commonFilters]?: Static<(typeof commonFilters)[F]> }

/** The parameter `fields`, which chooses among the fields of a list's items. */
const fieldsOf = (resource: string, item: TObject) =>
  choosing(
    item,
    several(
      literals(Object.keys(item.properties), { title: `${resource}Field`, description: 'A field of the record.' }),
      {
        description: 'Only these fields, separated by commas, such as `id,updatedAt`. `id` is always among them.',
      },
    ),
  )

const embed = filter(
  literals(['true', 'false'], {
    title: 'TrueOrFalse',
    description:
      'With `false`, each record is as the change feed shows it: as it is stored, with the ids of other records. By default other records are embedded.',
  }),
)

/** The parameter `unreadable`. Give what happens without it. */
export const unreadable = (otherwise: string) =>
  filter(
    literals(['skip'], {
      title: 'UnreadableRecords',
      description: `With \`skip\`, records that cannot be shown, because they do not fit their schema, are left out and listed in \`_metadata.unreadable\`; they still count for the page size and for totals. ${otherwise}`,
    }),
  )

/**
 * The parameters of a list. `explode: false` tells OpenAPI that several values stand in one parameter.
 * @param resource its name in those of the components, such as `EntrySortBy`
 * @param item what the list shows of each record
 * @param sorts the fields that it can be sorted by, besides the id
 * @param filters its own filters, besides those of every list
 * @param more its own parameters that are not filters
 */
export const listQuery = <
  const S extends readonly string[],
  F extends TProperties,
  M extends TProperties = Record<never, never>,
>(
  resource: string,
  item: TObject,
  limits: PageLimits,
  sorts: S,
  filters: F,
  more: M = {} as M,
) =>
  strict(
    {
      ...sorting(resource, item, sorts),
      ...paging(limits),
      ...filters,
      ...commonFilters,
      fields: fieldsOf(resource, item),
      unreadable: unreadable('By default one of them makes the response a 500.'),
      embed: 'expand' in more ? excluding(['expand'], embed) : embed,
      ...more,
    },
    { explode: false },
  )

/** The parameters of a list that are no filters. */
export interface Listing {
  readonly sortBy: string
  readonly sortOrder: 'asc' | 'desc'
  readonly page: number
  readonly perPage: number
  readonly fields?: readonly string[]
  /** The fields in which records take the place of ids. */
  readonly expand?: readonly string[]
  /** Whether an item has other records in it, or only their ids. */
  readonly embed?: 'true' | 'false'
  /** Whether the names of other records stand beside their ids. */
  readonly names?: 'true' | 'false'
  /** Whether columns have headings in words, and names stand before ids. */
  readonly labels?: 'true' | 'false'
  /** How the answers of entries are shown, if not as they are stored. */
  readonly answers?: 'list'
  /** Whether the page leaves out the records that do not fit. By default one of them fails it. */
  readonly unreadable?: 'skip'
  readonly total?: 'true' | 'false'
  readonly cursor?: string
  readonly after?: string
}

/** The path parameter of every by-id operation. */
export const IdParams = (resource: keyof typeof exampleIds) =>
  Type.Object({
    id: Type.String({
      minLength: 1,
      description: `Id of the ${resource}. The example is one of the demo data.`,
      examples: [exampleIds[resource]],
    }),
  })
