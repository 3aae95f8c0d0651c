// The checks that are the same for every request: its URL, its HTTP version and its headers. They run before all others.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { MAX_URL_BYTES } from '../../../schemas/common.js'
import { noSuchPath, type ProblemCode, problem, urlTooLong, wrongMethod, wrongVersion } from '../problems/problems.js'
import { HOST } from './caller.js'

/** The longest value of each parsed header, in characters. The time to parse some grows with the square of it. */
export const MAX_HEADER_LENGTHS = {
  accept: 1000,
  'accept-encoding': 500,
  authorization: 500,
  host: 300,
  'if-modified-since': 100,
  'if-none-match': 4000,
  'x-forwarded-for': 1000,
  'x-forwarded-host': 1000,
  'x-forwarded-proto': 200,
} as const
const maxLengths = Object.entries(MAX_HEADER_LENGTHS)

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a method only refuses requests, so that it is not allowed. */
    isRefused?: true
  }
}

const plugin = async (app: FastifyInstance) => {
  const routes: Route[] = []
  app.addHook('onRoute', ({ url, method, config }) => {
    if (!config?.isRefused) routes.push({ segments: url.split('/'), methods: [method].flat() })
  })
  // In onRequest, because a wrong path or method is reported before an invalid body.
  app.addHook('onRequest', (request, _reply, next) => {
    next(urlProblem(request, routes) ?? headerProblem(request))
  })
}
export const requestChecksPlugin = fp(plugin, { name: 'request-checks', fastify: '5.x' })

interface Route {
  readonly segments: readonly string[]
  readonly methods: readonly string[]
}

const urlProblem = ({ originalUrl, url, is404 }: FastifyRequest, routes: readonly Route[]) => {
  if (Buffer.byteLength(originalUrl) > MAX_URL_BYTES) return urlTooLong()
  if (originalUrl !== url) return problem('bad_request', 'The URL is not encoded correctly')
  if (!is404) return undefined
  const methods = routes.filter(leadsTo(url)).flatMap((route) => route.methods)
  return methods.length === 0 ? noSuchPath() : wrongMethod([...new Set(methods)].sort())
}

/** Whether the path of a URL leads to a route. The router finds only routes of the request's own method. */
const leadsTo = (url: string) => {
  // A request to a proxy has the scheme and the host too (RFC 9112, section 3.2.2).
  const path = decodeURI(url.replace(/^https?:\/\/[^/?#]*|[?#].*/gis, '')).split('/')
  return ({ segments }: Route): boolean =>
    segments.length === path.length &&
    segments.every((segment, n) => {
      const [fixed = '', parameter] = segment.split(':')
      return parameter === undefined ? path[n] === fixed : path[n]?.startsWith(fixed)
    })
}

/** The URL that the router gets: it takes none that is not encoded correctly, so such a one becomes one that leads nowhere. */
export const routedUrl = ({ url = '' }: IncomingMessage): string => {
  try {
    if (url.includes('%')) decodeURIComponent(url)
    return url
  } catch {
    return '//'
  }
}

const headerProblem = ({ headers, raw }: FastifyRequest) => {
  if (!['1.0', '1.1'].includes(raw.httpVersion)) return wrongVersion()
  for (const [name, maxLength] of maxLengths) {
    const value = headers[name]
    if (value !== undefined && value.length > maxLength) {
      return wrongHeader(name, `must not be longer than ${maxLength} characters`, 'header_fields_too_large')
    }
  }
  const repeated = ['Host', 'Authorization'].find((name) => isRepeated(raw.rawHeaders, name))
  if (repeated !== undefined) return wrongHeader(repeated, 'must be given only once')
  // RFC 9112, section 3.2. HTTP/1.0 requests need no Host header.
  if (headers.host === undefined && raw.httpVersion === '1.1') {
    return problem('bad_request', 'An HTTP/1.1 request needs a Host header')
  }
  return headers.host && !HOST.test(headers.host)
    ? wrongHeader('Host', 'must be a name or an address, with or without a port')
    : undefined
}

const wrongHeader = (name: string, message: string, code: ProblemCode = 'bad_request') =>
  problem(code, `${name} ${message}`, { errors: [{ in: 'header', name, message }] })

/** Whether a header is there more than once. In `headers` Node keeps only the first Host and Authorization. */
const isRepeated = (rawHeaders: readonly string[], name: string): boolean =>
  rawHeaders.filter((given, n) => n % 2 === 0 && given.toLowerCase() === name.toLowerCase()).length > 1
