// The envelopes of responses: one() for a record, page() for a list, and Problem (RFC 9457) for an error.
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { exampleIds, Id } from './common.js'
import { constant, refTo, word } from './kit.js'

export const success = constant(true, 'True in every successful response.')

/** What the metadata of a page says of records that do not fit. */
export const unreadable = Type.Optional(
  Type.Array(
    Type.Object(
      {
        id: Id('Id of the record.', exampleIds.entry),
        message: Type.String({ description: 'What does not fit.', examples: ['answers is BSON string, not an array'] }),
      },
      { title: 'SkippedRecord', description: 'A record that does not fit its schema.' },
    ),
    { description: 'The records that the page leaves out. Only with `unreadable=skip`, and then always.' },
  ),
)

const pageLink = (description: string) => Type.String({ format: 'uri', description })

export type PageMetadata = Static<typeof PageMetadata>
export const PageMetadata = Type.Object(
  {
    total: Type.Optional(
      Type.Integer({
        description:
          'Number of records that match. For a large number it may be some seconds old. Left out with `total=false`, and with `cursor` unless `total=true`.',
      }),
    ),
    perPage: Type.Integer({ description: 'Page size in effect.' }),
    pageCount: Type.Optional(
      Type.Integer({
        description: 'Number of pages; 0 if nothing matches. Left out without `total`, and with `cursor`.',
      }),
    ),
    hasMore: Type.Boolean({ description: 'Whether the list goes on after this page.' }),
    nextCursor: Type.Optional(
      Type.String({
        description:
          'The `cursor` that goes on after this page, with the same filters and order, and without `page` and `after`. Left out when `hasMore` is false, and behind a record from whose values no cursor can go on.',
      }),
    ),
    unreadable,
    unmatched: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'The filters by a status or an id whose value no record has at all, such as a misspelt one. Only on an empty first page.',
        examples: [['status']],
      }),
    ),
    pageLinks: Type.Object(
      {
        current: pageLink('Absolute URL of this page.'),
        next: Type.Optional(pageLink('Absolute URL of the next page. Left out on the last page.')),
        previous: Type.Optional(
          pageLink('Absolute URL of the previous page. Left out on the first page, and with `cursor`.'),
        ),
      },
      {
        title: 'PageLinks',
        description:
          'Links to this page and its neighbours. They repeat every filter of the request, and lead to a position instead of a number of records.',
      },
    ),
  },
  { $id: 'PageMetadata', description: 'The position of the page in the whole list.' },
)

/** `{success, data}`: the response of a by-id operation. */
export const one = <T extends TSchema>(resource: T) =>
  Type.Object(
    { success, data: refTo(resource) },
    { title: `${resource.$id}Response`, description: `${resource.description}` },
  )

/** The name of the resource whose lists show the item. */
export const nameOf = ({ $id }: TSchema): string => ($id as string).replace('ListItem', '')

/**
 * `{success, data: […], _metadata}`: a page of a list. OpenAPI cannot say that a response depends on parameters, so the
 * description has the exceptions.
 */
export const page = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      success,
      data: Type.Array(refTo(item), {
        description:
          'Records of this page. They lack required fields in three cases: with `fields`, which chooses the fields besides `id`; with `embed=false`, which leaves out what no record stores; and for a key that does not see all fields.',
      }),
      _metadata: refTo(PageMetadata),
    },
    { title: `${nameOf(item)}Page`, description: 'A page of records.' },
  )

export type Problem = Static<typeof Problem>
export const Problem = Type.Object(
  {
    success: constant(false, 'False in every error.'),
    type: Type.String({
      description: 'Where the kind of problem is described: a URL, or the path of one.',
      examples: ['/docs/errors#not_found'],
    }),
    title: Type.String({ description: 'Short summary of the kind of problem.', examples: ['Not Found'] }),
    status: Type.Integer({ description: 'HTTP status code.', examples: [404] }),
    detail: Type.String({ description: 'What went wrong with this request.', examples: ['No entry has this id'] }),
    code: Type.String({ description: 'Code of the error, for programs.', examples: ['not_found'] }),
    requestId: Type.String({
      description: 'Id of the request, also in the X-Request-Id header and in the log.',
      examples: ['0b9df1c4-6a7e-4c39-8c71-7f6b6a0c4e52'],
    }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            in: word(['query', 'path', 'header', 'record'], {
              title: 'ErrorPlace',
              description: 'Where the error is: in the input, or in a stored record.',
            }),
            name: Type.String({
              description:
                'Name of the parameter or header, or collection and id of the record, as in `entries/65850cb4`.',
              examples: ['perPage'],
            }),
            message: Type.String({
              description: 'What is wrong with it.',
              examples: ['must be an integer from 1 to 1000'],
            }),
            allowed: Type.Optional(
              Type.Array(Type.String(), {
                description: 'The allowed values, if they can be listed.',
                examples: [['asc', 'desc']],
              }),
            ),
          },
          { title: 'ErrorDetail', description: 'What is wrong with one part of the input, or of a stored record.' },
        ),
        { description: 'Each error. Only for invalid input and for a stored record that cannot be shown.' },
      ),
    ),
  },
  { $id: 'Problem', description: 'An error (RFC 9457).' },
)
