// The responses of an operation in OpenAPI, each with its schema. src/core/door/openapi-components.ts adds the examples.
import { type TSchema, Type } from '@sinclair/typebox'
import { Problem } from '../../../schemas/envelope.js'
import { refTo } from '../../../schemas/kit.js'
import { type CollectionName, hasParts } from '../documents/collections.js'
import { PROBLEM_TYPE, type ProblemCode, problems } from '../problems/problems.js'

const header = (description: string) => ({ type: 'string', description })
const requestId = {
  'X-Request-Id': header(
    'The id of the request in the log: the caller’s own, if it sent one of at most 64 letters, digits and `_.:-`.',
  ),
}
const keyHeaders = {
  'API-Key-Expires': header(
    'When the key ends, as `@` and the seconds since 1970. Only in the last 14 days before it ends.',
  ),
  RateLimit: header(
    'How many requests are left (`r`), and in how many seconds the key has all of them again (`t`). Only if the service has a rate limit.',
  ),
  'RateLimit-Policy': header(
    'How many requests (`q`) a key may send in how many seconds (`w`). Only if the service has a rate limit.',
  ),
}
/** The headers of a response that comes after the key was read. */
const commonHeaders = (codes: readonly ProblemCode[]) => ({
  ...(codes.includes('unauthorized') && keyHeaders),
  ...requestId,
})
const ETag = header('The entity tag of the response, for the If-None-Match header of the next request.')
/** The headers of a response that can be revalidated, and the headers of a page of a list. */
export const tagged = { ETag }
export const linked = {
  Link: header(
    'The links `next` and `previous` (as `prev`) of `pageLinks` (RFC 8288). Left out if longer than 2,000 bytes.',
  ),
  ETag,
}
/** A file in any format, and the headers of its response. */
export const FILE = Type.Unsafe({ type: 'string', format: 'binary' })
export const attached = { 'Content-Disposition': header('The name of the file.') }
const headersOf: Record<number, object> = {
  401: {
    'WWW-Authenticate': header(
      'How to give the key: `Bearer`, and `Basic` too, except to a script in a browser, where it would open a dialog.',
    ),
  },
  429: { 'Retry-After': header('When to try again, in seconds.') },
  503: { 'Retry-After': header('When to try again, in seconds.') },
}

export const requestProblems: ProblemCode[] = [
  'bad_request',
  'not_acceptable',
  'uri_too_long',
  'header_fields_too_large',
  'http_version_not_supported',
]
const isBeforeKey = (code: ProblemCode): boolean =>
  [...requestProblems, 'unauthorized', 'internal_error'].includes(code)
export const databaseProblems: ProblemCode[] = ['internal_error', 'service_unavailable', 'query_timeout']
export const commonProblems: ProblemCode[] = [
  'invalid_parameter',
  'unauthorized',
  'rate_limited',
  'overloaded',
  ...requestProblems,
  ...databaseProblems,
]

export const problemsOn = (collection: CollectionName): ProblemCode[] =>
  hasParts(collection) ? commonProblems : [...commonProblems, 'not_in_scope']

/** The responses of an operation, by status. Schema, description, headers and media types describe the successful response. */
export const responses = (
  schema: TSchema,
  codes: readonly ProblemCode[],
  {
    description = schema.description,
    headers = {},
    types = ['application/json'],
  }: { description?: string | undefined; headers?: Record<string, object>; types?: readonly string[] } = {},
) => ({
  200: {
    description,
    headers: { ...headers, ...commonHeaders(codes) },
    content: Object.fromEntries(types.map((type) => [type, { schema }])),
  },
  ...(headers.ETag && {
    304: {
      description: 'The caller already has this response: If-None-Match names its entity tag. There is no body.',
      headers: { ...tagged, ...commonHeaders(codes) },
      type: 'null',
    },
  }),
  ...problemsOf(codes),
})

const problemsOf = (codes: readonly ProblemCode[]) =>
  Object.fromEntries(
    [...new Set(codes.map((code) => problems[code].status))].sort().map((status) => {
      const ofStatus = codes.filter((code) => problems[code].status === status)
      const examples = Object.fromEntries(ofStatus.map((code) => [code, {}]))
      const description = ofStatus.map((code) => problems[code].when).join('. Or: ')
      const headers = { ...headersOf[status], ...(ofStatus.every(isBeforeKey) ? requestId : commonHeaders(codes)) }
      return [status, { description, headers, content: { [PROBLEM_TYPE]: { schema: refTo(Problem), examples } } }]
    }),
  )
