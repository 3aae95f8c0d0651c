// The error catalogue: every error that a caller can get, as a problem (RFC 9457). A test holds the documentation equal to it.
import { STATUS_CODES } from 'node:http'
import { MAX_BODY_BYTES, MAX_URL_BYTES } from '../../../schemas/common.js'
import type { Problem } from '../../../schemas/envelope.js'

export const problems = {
  invalid_parameter: { status: 400, when: 'A parameter is unknown, is repeated, or has a value that is not allowed' },
  invalid_cursor: {
    status: 400,
    when: 'A cursor is garbled, or is of another organisation, operation, filter or order, or of a key that sees more or less; begin again with cursor=*',
  },
  response_too_large: {
    status: 400,
    when: 'The page would be larger than 64 MiB, or a record larger than 4 MiB for an assistant; request fewer records with perPage, or fewer fields',
  },
  bad_request: {
    status: 400,
    when: 'The request is not valid HTTP, its URL is not encoded correctly, its Host header is missing, invalid or repeated, its Authorization header is repeated, or a trusted proxy gave an invalid X-Forwarded-Host or X-Forwarded-Proto',
  },
  unauthorized: {
    status: 401,
    when: 'The API key, as a bearer token or as the password of HTTP Basic, is missing, malformed, unknown, expired, revoked or not for the address of the caller, or its organisation is gone',
  },
  forbidden_origin: {
    status: 403,
    when: 'A page of another origin sent the request to /mcp, and CORS_ORIGINS does not name it',
  },
  not_in_scope: {
    status: 403,
    when: 'The key sees only some projects or forms, and these records do not belong to one; GET /v1/me says which',
  },
  not_found: { status: 404, when: 'The organisation has no record with this id' },
  route_not_found: { status: 404, when: 'The path does not exist' },
  method_not_allowed: { status: 405, when: 'The path exists, but not with this method; Allow names those that it has' },
  not_acceptable: { status: 406, when: 'The Accept header excludes application/json' },
  request_timeout: {
    status: 408,
    when: 'The request did not arrive in time. If nothing arrives for 10 s, the connection is closed without a response',
  },
  records_without_stamp: {
    status: 409,
    when: 'A feed was asked for by changedSince from its beginning, but some records have no change stamp: have them stamped with npm run db:stamp, or begin with cursor=*',
  },
  cursor_expired: {
    status: 410,
    when: 'A cursor or a changedSince is older than the deletions that the service remembers; begin again with cursor=* or changedSince=1970-01-01T00:00:00Z',
  },
  content_too_large: { status: 413, when: 'The body of the request is larger than 16 KiB' },
  uri_too_long: { status: 414, when: 'The URL is longer than 8000 bytes' },
  unsupported_media_type: {
    status: 415,
    when: 'The Content-Type of the request is not a media type, or its Content-Encoding says that the body is encoded',
  },
  rate_limited: {
    status: 429,
    when: 'The key has sent as many requests as it may in a minute; Retry-After says when to try again',
  },
  header_fields_too_large: {
    status: 431,
    when: 'A header is longer than its limit, or all headers together are larger than 16 KiB',
  },
  internal_error: {
    status: 500,
    when: 'The service failed; its log has the cause under the request id. If a stored record is the cause, `errors` names it',
  },
  overloaded: {
    status: 503,
    when: 'Too many requests with this key, or of its organisation, are running or waiting, too many of its responses have not been read yet, or too many unknown keys are being looked up; Retry-After says when to try again',
  },
  service_unavailable: {
    status: 503,
    when: 'The database cannot be reached, or, for `/health/ready`, the service is about to stop; Retry-After says when to try again',
  },
  query_timeout: { status: 503, when: 'The database took too long; a narrower filter may help' },
  http_version_not_supported: { status: 505, when: 'The request is neither HTTP/1.0 nor HTTP/1.1' },
} as const satisfies Record<string, { status: number; when: string }>

export type ProblemCode = keyof typeof problems

export const PROBLEM_TYPE = 'application/problem+json'

/** The header of a 503 that has nothing to do with how many callers there are: when to try again, in seconds. */
export const RETRY_LATER = { 'retry-after': '2' }
const LONGEST_RETRY_S = 5

/** The same for a request too many. It differs, so that callers who are refused together do not come back together. */
export const retryLater = () => ({ 'retry-after': String(1 + Math.floor(Math.random() * LONGEST_RETRY_S)) })

export class ProblemError extends Error {
  constructor(
    readonly code: ProblemCode,
    /** What went wrong in this request. It never names anything of another organisation. */
    readonly detail: string,
    readonly extra: { errors?: Problem['errors']; headers?: Record<string, string> } = {},
  ) {
    super(detail)
    this.name = 'ProblemError'
  }

  get status(): number {
    return problems[this.code].status
  }

  /** The problem as a response has it. Its type leads to the page of the errors at the public URL of the service. */
  body(requestId: string, publicUrl = ''): Problem {
    return {
      success: false,
      type: `${publicUrl}/docs/errors#${this.code}`,
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

/** `message` says what is wrong with a parameter and what is allowed, `allowed` which values, if they can be listed. */
export const invalidParameter = (
  name: string,
  message: string,
  place: 'query' | 'path' = 'query',
  allowed?: string[],
): ProblemError => {
  const error = { in: place, name, message, ...(allowed && { allowed }) }
  return problem('invalid_parameter', `${name} ${message}`, { errors: [error] })
}

/** What is found, or undefined if a problem keeps it from being found. */
export const unlessProblem = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error) => {
    if (!(error instanceof ProblemError)) throw error
    return undefined
  })

export const tookTooLong = (detail: string): ProblemError =>
  problem('query_timeout', `The database took too long${detail}`, { headers: RETRY_LATER })

export const noSuchPath = () => problem('route_not_found', 'This path does not exist; /docs describes those that do')

export const wrongMethod = (allowed: readonly string[]) =>
  problem('method_not_allowed', `This path allows ${allowed.join(', ')}`, { headers: { allow: allowed.join(', ') } })

export const wrongVersion = () => problem('http_version_not_supported', 'The service supports HTTP/1.1 and HTTP/1.0')

export const urlTooLong = () => problem('uri_too_long', `The URL is longer than ${MAX_URL_BYTES} bytes`)

export const bodyTooLarge = () =>
  problem('content_too_large', `The body of the request is larger than ${MAX_BODY_BYTES} bytes`)

export const unsupported = (name: string, allowed: string, headers: Record<string, string> = {}) =>
  problem('unsupported_media_type', `${name} must be ${allowed}`, {
    errors: [{ in: 'header', name, message: `must be ${allowed}`, allowed: [allowed] }],
    headers,
  })
