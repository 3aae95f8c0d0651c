// What is wrong with a request whatever it asks for, found before anything else looks at it.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import {
  badEncoding,
  MAX_URL_BYTES,
  noSuchPath,
  type ProblemError,
  problem,
  urlTooLong,
  wrongMethod,
} from '../http/problems.js'

/**
 * The headers that the service or a library under it parses, and how long each may be, in characters: what it costs to
 * parse some of them grows with the square of their length.
 */
export const MAX_HEADER_LENGTHS = {
  accept: 1000,
  'accept-encoding': 500,
  authorization: 500,
  host: 300,
  'if-match': 1000,
  'if-modified-since': 100,
  'if-none-match': 4000,
  'if-range': 200,
  'if-unmodified-since': 100,
  range: 200,
  'x-forwarded-for': 1000,
  'x-forwarded-host': 1000,
  'x-forwarded-proto': 200,
} as const
const limits = Object.entries(MAX_HEADER_LENGTHS)
/** A name or an address, with or without a port. */
export const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

export const requestChecksPlugin = fp(
  async (app: FastifyInstance) => {
    const paths: RegExp[] = []
    app.addHook('onRoute', ({ url }) => {
      paths.push(new RegExp(`^${url.replace(/:[^/]+/g, '[^/]+').replace('*', '.*')}$`))
    })
    // Before a body is looked at, so that a wrong path or method is told before a wrong body.
    app.addHook('onRequest', (request, _reply, next) => {
      next(faultOfUrl(request, paths) ?? faultOfVersion(request) ?? faultOfHeaders(request))
    })
  },
  { name: 'request-checks', fastify: '5.x' },
)

const faultOfUrl = (request: FastifyRequest, paths: readonly RegExp[]): ProblemError | undefined => {
  const { url, method } = request
  if (Buffer.byteLength(url) > MAX_URL_BYTES) return urlTooLong()
  if (request.is404) {
    const path = url.replace(/\?.*/s, '')
    const isRead = method === 'GET' || method === 'HEAD'
    return isRead || !paths.some((pattern) => pattern.test(path)) ? noSuchPath() : wrongMethod()
  }
  return url.includes('%') && !isEncoded(url) ? badEncoding() : undefined
}

const isEncoded = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const faultOfVersion = ({ raw: { httpVersion } }: FastifyRequest): ProblemError | undefined =>
  httpVersion === '1.1' || httpVersion === '1.0'
    ? undefined
    : problem('http_version_not_supported', 'The service speaks HTTP/1.1 and HTTP/1.0')

const faultOfHeaders = ({ headers, raw }: FastifyRequest): ProblemError | undefined => {
  for (const [name, most] of limits) {
    const value = headers[name]
    if (value !== undefined && value.length > most) {
      const message = `must not be longer than ${most} characters`
      return problem('header_fields_too_large', `${name} ${message}`, { errors: [{ in: 'header', name, message }] })
    }
  }
  const twice = repeated(raw.rawHeaders)
  if (twice !== undefined) return wrongHeader(twice, 'must be given only once')
  // RFC 9112, section 3.2; before HTTP/1.1 there need be none.
  if (headers.host === undefined && raw.httpVersion === '1.1') {
    return problem('bad_request', 'A request of HTTP/1.1 needs a Host header')
  }
  return headers.host && !HOST.test(headers.host)
    ? wrongHeader('Host', 'must be a name or an address, with or without a port')
    : undefined
}

const wrongHeader = (name: string, message: string) =>
  problem('bad_request', `${name} ${message}`, { errors: [{ in: 'header', name, message }] })

/** Which of the headers that say where a request goes and who sends it stands there twice. Node gives the first alone. */
const repeated = (rawHeaders: readonly string[]): 'Host' | 'Authorization' | undefined => {
  let hosts = 0
  let keys = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name.length === 13 && name.toLowerCase() === 'authorization') keys += 1
  }
  return hosts > 1 ? 'Host' : keys > 1 ? 'Authorization' : undefined
}
