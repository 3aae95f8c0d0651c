// What the resources share: identifiers, timestamps, and the paging and sorting parameters of every list.
import { Type } from '@sinclair/typebox'
import { defaulted, filter, literals } from './kit.js'

/** An identifier: an opaque string, by custom 24 hexadecimal digits in the order of creation. */
export const Id = (description: string, example = '665f1c2ab8d4e0a1c3f20b17') =>
  Type.String({ description, examples: [example] })

/** An instant: ISO 8601, UTC, always with milliseconds. */
export const Timestamp = (description: string, example = '2025-03-14T09:26:53.589Z') =>
  Type.String({
    format: 'date-time',
    description: `${description} ISO 8601 in UTC with milliseconds.`,
    examples: [example],
  })

export const Text = (description: string, example: string) => Type.String({ description, examples: [example] })

/** What a list serves when the caller names no page, and the most that it serves at once. */
export interface PageLimits {
  page: number
  perPage: number
  maxPerPage: number
}

/** The highest page number: beyond it no list of this service reaches. */
export const MAX_PAGE = 2_147_483_647

/** `page` and `perPage`, with the defaults and the maximum of this deployment. */
export const paging = (limits: PageLimits) => ({
  page: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      description: 'Page number, from 1. A page beyond the last is empty.',
      examples: [limits.page],
    }),
    limits.page,
  ),
  perPage: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: limits.maxPerPage,
      description: 'Page size: how many records a page holds at the most.',
      examples: [limits.perPage],
    }),
    limits.perPage,
  ),
})

/** `sortBy` and `sortOrder` of a list; the id is always the last sort key, in the same direction. */
export const sorting = <const F extends readonly string[]>(fields: F) => ({
  sortBy: defaulted(
    literals(['id', ...fields], {
      description: 'Field to sort by. Records that are equal in it come in the order of their ids.',
    }),
    'id',
  ),
  sortOrder: defaulted(literals(['asc', 'desc'], { description: 'Direction of the sort.' }), 'asc'),
})

/** A filter by an identifier. */
export const IdFilter = (description: string) => filter(Type.String({ minLength: 1, description }))

/** A filter by the name of a resource. */
export const NameFilter = (resource: string) =>
  filter(Type.String({ minLength: 1, description: `Name of the ${resource}: the whole name, case-sensitive.` }))

/** The path parameter of every by-id operation. */
export const IdParams = (resource: string) =>
  Type.Object({ id: Type.String({ minLength: 1, description: `Id of the ${resource}.` }) })
