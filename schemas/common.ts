// What all resources share: identifiers, timestamps, and the paging and sorting parameters of lists.
import { Type } from '@sinclair/typebox'
import { defaulted, excluding, filter, literals } from './kit.js'

/** An identifier: an opaque string, usually of 24 hexadecimal digits that sort by the time of creation. */
export const Id = (description: string, example = '665f1c2ab8d4e0a1c3f20b17') =>
  Type.String({ description, examples: [example] })

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

/** The highest page number. No list is long enough to reach it. */
export const MAX_PAGE = 2_147_483_647

/** The parameters that select a page: `page`, `perPage`, `total`, `cursor` and `after`. */
export const paging = (limits: PageLimits) => ({
  page: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      description:
        'Page number, from 1. A page beyond the last is empty. To read a whole list, use `cursor`, or follow the links.',
      examples: [limits.page],
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
          'Reads a whole list, page after page: `*` begins, and the `nextCursor` of each response goes on. Repeat the filters and the order. No record is skipped or repeated because others are added or deleted.',
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

/** The parameters `sortBy` and `sortOrder`. The id is always the last sort key, in the same direction. */
export const sorting = <const F extends readonly string[]>(fields: F) => ({
  sortBy: defaulted(
    literals(['id', ...fields], {
      description: 'Field to sort by. Records with the same value are sorted by their ids.',
    }),
    'id',
  ),
  sortOrder: defaulted(literals(['asc', 'desc'], { description: 'Direction of the sort.' }), 'asc'),
})

/** A filter by an identifier. */
export const IdFilter = (description: string) => filter(Type.String({ minLength: 1, description }))

/** A filter by the name of a resource. */
export const NameFilter = (resource: string) =>
  filter(Type.String({ minLength: 1, description: `Name of the ${resource}. Matches the whole name, case-sensitive.` }))

/** The path parameter of every by-id operation. */
export const IdParams = (resource: string) =>
  Type.Object({ id: Type.String({ minLength: 1, description: `Id of the ${resource}.` }) })
