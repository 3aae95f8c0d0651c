// The error catalogue: every error that a caller can meet, as a problem of RFC 9457. The README lists the same codes.
import { STATUS_CODES } from 'node:http'
import type { Problem } from '../../schemas/envelope.js'

/** Code of each problem, its HTTP status and when it occurs. */
export const problems = {
  invalid_parameter: { status: 400, when: 'A parameter is unknown, repeated, or has a value that is not allowed' },
  response_too_large: { status: 400, when: 'The page would be larger than 64 MiB; a smaller perPage helps' },
  bad_request: {
    status: 400,
    when: 'The request is no valid HTTP, names no host or two, has two keys, or its URL is not encoded correctly',
  },
  unauthorized: { status: 401, when: 'The API key is missing, malformed, unknown, expired or revoked' },
  not_found: { status: 404, when: 'The organisation has no record with this id' },
  route_not_found: { status: 404, when: 'The service has no such path' },
  method_not_allowed: { status: 405, when: 'The path is read-only: it takes GET and HEAD' },
  not_acceptable: { status: 406, when: 'The Accept header excludes application/json' },
  request_timeout: { status: 408, when: 'The request did not arrive in time' },
  precondition_failed: {
    status: 412,
    when: 'A file of the documentation does not fulfil the condition of the request',
  },
  uri_too_long: { status: 414, when: 'The URL is longer than 8000 bytes' },
  range_not_satisfiable: { status: 416, when: 'A file of the documentation has no such range' },
  header_fields_too_large: {
    status: 431,
    when: 'A header field is longer than the service reads, or all together are larger than 16 KiB',
  },
  internal_error: { status: 500, when: 'The service failed; the log has the cause under the request id' },
  overloaded: {
    status: 503,
    when: 'Too many requests of this key, or responses that are not read yet, are under way; Retry-After says when to try again',
  },
  service_unavailable: { status: 503, when: 'The database cannot be reached; Retry-After says when to try again' },
  query_timeout: { status: 503, when: 'The database took too long; a narrower filter may help' },
  http_version_not_supported: { status: 505, when: 'The request is neither HTTP/1.0 nor HTTP/1.1' },
} as const satisfies Record<string, { status: number; when: string }>

export type ProblemCode = keyof typeof problems

export const PROBLEM_TYPE = 'application/problem+json'

/** What a 503 says of when to try again. */
export const RETRY_LATER = { 'retry-after': '2' }

/** A problem on its way to the caller. */
export class ProblemError extends Error {
  constructor(
    readonly code: ProblemCode,
    /** What went wrong in this request; never names anything of another organisation. */
    readonly detail: string,
    readonly extra: { errors?: Problem['errors']; headers?: Record<string, string> } = {},
  ) {
    super(detail)
    this.name = 'ProblemError'
  }

  get status(): number {
    return problems[this.code].status
  }

  body(requestId: string): Problem {
    return {
      success: false,
      type: 'about:blank',
      title: STATUS_CODES[this.status] as string,
      status: this.status,
      detail: this.detail,
      code: this.code,
      requestId,
      ...(this.extra.errors && { errors: this.extra.errors }),
    }
  }
}

export const problem = (code: ProblemCode, detail: string, extra: ProblemError['extra'] = {}): ProblemError =>
  new ProblemError(code, detail, extra)

/** The longest URL that is read, in bytes; RFC 9110, section 4.1, recommends at least as much. */
export const MAX_URL_BYTES = 8000
const READ_METHODS = 'GET, HEAD'

export const noSuchPath = () => problem('route_not_found', 'There is no such path')

export const wrongMethod = () =>
  problem('method_not_allowed', `This path takes ${READ_METHODS}`, { headers: { allow: READ_METHODS } })

export const badEncoding = () => problem('bad_request', 'The URL is not encoded correctly')

export const urlTooLong = () => problem('uri_too_long', `The URL is longer than ${MAX_URL_BYTES} bytes`)
