// Logs one line for each request: the operation, its checked parameters and how it ended. What comes from outside is cut
// and has neither keys nor control characters in it; a path or a parameter that was not checked is not logged at all.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { MAX_URL_BYTES } from '../../../schemas/common.js'
import { redacted } from '../keys/format.js'
import type { ProblemError } from '../problems/problems.js'
import { withoutPorts } from '../validation/addresses.js'
import { wasSent, whenOver } from './caller.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the parameters match their schema. */
    isChecked?: true
    /** What an assistant called, once its arguments match their schema. */
    called?: { readonly tool: string; readonly query: object }
  }
  interface FastifyReply {
    problem?: ProblemError
    /** How many records or groups were sent. If the response was broken off, some of them were not. */
    rows?: number | undefined
    /** How many records the response leaves out, because they do not fit their schema. */
    skipped?: number | undefined
  }
}

/** A longer value is cut in the log, in characters. A list of values, such as many ids, may be as long as a URL. */
const MAX_LOGGED = 500
const REQUEST_ID = /^[\w.:-]{1,64}$/
/** The id of a trace in a `traceparent` (W3C Trace Context). Later versions may have more fields than version 00. */
const TRACE = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|(?<!^00.{53})-)/
/** A key or the secret part of one. The usual kinds of request ids have no such long runs of letters and digits. */
const KEY = /fda_|[0-9a-z]{33}/i
/** Characters that control a terminal or the direction of text, or that some readers of lines take for their end. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** The id of a request: the caller's own X-Request-Id if it is safe to log, otherwise a new UUID. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) && !KEY.test(given) ? given : randomUUID()
}

const plugin = async (app: FastifyInstance) => {
  app.addHook('onRequest', (request, reply, next) => {
    reply.header('x-request-id', request.id)
    // Nothing has read the address of the caller before.
    const { 'x-forwarded-for': forwardedFor } = request.headers
    if (forwardedFor !== undefined) request.headers['x-forwarded-for'] = withoutPorts(String(forwardedFor))
    // Fastify's onResponse hook would miss a caller that disconnected first, and a closed connection does not tell its address.
    const { ip, socket } = request
    const before = socket.bytesWritten
    whenOver(reply, () => {
      const { schema, url } = request.routeOptions
      const { called } = request
      const key = request.scope ?? request.refused
      request.log.info(
        {
          traceId: TRACE.exec(String(request.headers.traceparent))?.[1],
          method: request.method,
          operation: called === undefined ? (schema?.operationId ?? url) : `mcp.${called.tool}`,
          ...(called && { query: loggableOf(called.query) }),
          ...(request.isChecked && schema?.querystring !== undefined && parametersOf(request)),
          // Of a response that was cut off, nobody knows how much has arrived.
          ...(wasSent(reply)
            ? { statusCode: reply.statusCode, bytes: socket.bytesWritten - before || undefined }
            : { aborted: true }),
          rows: reply.rows,
          skipped: reply.skipped || undefined,
          code: reply.problem?.code,
          errors: reply.problem?.extra.errors?.map(({ name }) => loggable(name)),
          ms: Math.round(reply.elapsedTime * 10) / 10,
          ip: loggable(ip),
          userAgent: loggable(request.headers['user-agent']),
          refused: request.refused?.refused,
          keyId: key?.keyId,
          organisation: key?.organisation,
        },
        'request',
      )
    })
    next()
  })
  // Fastify checks the parameters before this hook.
  app.addHook('preHandler', (request, _reply, next) => {
    request.isChecked = true
    next()
  })
}
export const requestLogPlugin = fp(plugin, { name: 'request-log', fastify: '5.x' })

const parametersOf = ({ params, query }: FastifyRequest) => ({
  id: loggable((params as { id?: string }).id),
  format: (params as { format?: string }).format,
  query: loggableOf(query as object),
})

const loggableOf = (values: object) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, loggable(value)]))

/** A value as the log shows it. A list of values is one text. */
export const loggable = (value: unknown): unknown => {
  const textOf = (item: unknown) => (typeof item === 'object' ? JSON.stringify(item) : item)
  const text = Array.isArray(value) ? value.map(textOf).join() : value
  const most = Array.isArray(value) ? MAX_URL_BYTES : MAX_LOGGED
  return typeof text === 'string' ? redacted(text).slice(0, most).replace(CONTROL, '?') : text
}
