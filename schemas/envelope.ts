// The envelopes of every response: one(), page() and, for errors, Problem (RFC 9457).
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { literals, refTo } from './kit.js'

const success = Type.Boolean({ const: true, description: 'True in every successful response.', examples: [true] })

export type PageMetadata = Static<typeof PageMetadata>
export const PageMetadata = Type.Object(
  {
    total: Type.Integer({
      description: 'How many records match; where many do, as of some seconds ago.',
      examples: [120],
    }),
    perPage: Type.Integer({ description: 'Page size in effect.', examples: [50] }),
    pageCount: Type.Integer({ description: 'How many pages there are; 0 when nothing matches.', examples: [3] }),
    pageLinks: Type.Object(
      {
        current: Type.String({
          format: 'uri',
          description: 'Absolute URL of this page.',
          examples: ['https://api.example.org/v1/entries?page=2&perPage=50'],
        }),
        next: Type.Optional(
          Type.String({
            format: 'uri',
            description: 'Absolute URL of the next page; left out on the last.',
            examples: ['https://api.example.org/v1/entries?page=3&perPage=50'],
          }),
        ),
        previous: Type.Optional(
          Type.String({
            format: 'uri',
            description: 'Absolute URL of the previous page; left out on the first.',
            examples: ['https://api.example.org/v1/entries?page=1&perPage=50'],
          }),
        ),
      },
      { description: 'This page and its neighbours, with every filter of the request.' },
    ),
  },
  { $id: 'PageMetadata', description: 'Where the page stands in the whole list.' },
)

/** `{success, data}`: the response of a by-id operation. */
export const one = <T extends TSchema>(resource: T) =>
  Type.Object({ success, data: refTo(resource) }, { description: `The ${resource.$id}.` })

/** `{success, data: […], _metadata}`: the response of a list operation. */
export const page = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      success,
      data: Type.Array(refTo(item), { description: 'Records of this page.' }),
      _metadata: refTo(PageMetadata),
    },
    { description: `A page of ${item.$id}s.` },
  )

export type Problem = Static<typeof Problem>
export const Problem = Type.Object(
  {
    success: Type.Boolean({ const: false, description: 'False in every error.', examples: [false] }),
    type: Type.String({ description: 'URI reference of the kind of problem.', examples: ['about:blank'] }),
    title: Type.String({ description: 'Short summary of the kind of problem.', examples: ['Not found'] }),
    status: Type.Integer({ description: 'HTTP status code.', examples: [404] }),
    detail: Type.String({ description: 'What went wrong in this request.', examples: ['No entry has this id'] }),
    code: Type.String({ description: 'Code of the problem, for programs.', examples: ['not_found'] }),
    requestId: Type.String({
      description: 'Id of the request, as in X-Request-Id and in the log.',
      examples: ['0b9df1c4-6a7e-4c39-8c71-7f6b6a0c4e52'],
    }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          in: literals(['query', 'path', 'header'], { description: 'Where the bad input is.' }),
          name: Type.String({ description: 'Name of the parameter or header.', examples: ['perPage'] }),
          message: Type.String({ description: 'What is wrong with it.', examples: ['must be at most 1000'] }),
          allowed: Type.Optional(
            Type.Array(Type.String(), {
              description: 'What is allowed, where it can be listed.',
              examples: [['asc', 'desc']],
            }),
          ),
        }),
        { description: 'Each bad input; only in responses to bad input.' },
      ),
    ),
  },
  { $id: 'Problem', description: 'An error (RFC 9457).' },
)
