// What a row of the table of routes is, and how it becomes a route of Fastify.
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { baseOf } from '../http/caller.js'
import type { KeyScope } from '../keys/keys.js'
import type { ProblemCode } from '../problems/problems.js'
import type { Reader } from '../read/reader.js'
import type { Answer, Asked } from './answer.js'
import { commonProblems, responses } from './responses.js'
import type { Send } from './send.js'

export interface Route {
  /** Behind the prefix of all of them. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly params?: TObject
  readonly query: TObject
  /** What the response is, and what describes it. */
  readonly response: TSchema
  readonly responseDescription?: string
  /** By default those that every operation can have. */
  readonly problems?: readonly ProblemCode[]
  readonly headers?: Readonly<Record<string, object>>
  /** By default JSON alone. */
  readonly types?: readonly string[]
  /** Whether the path chooses the media type, so that the Accept header does not matter. */
  readonly isTypeInPath?: true
  /** Whether it is left out of the OpenAPI document. */
  readonly isHidden?: true
  // biome-ignore lint/suspicious/noExplicitAny: the query schema checks the parameters
  readonly operation: (reader: Reader, asked: Asked<any>, key: KeyScope) => Answer | Promise<Answer>
}

export const register = (app: FastifyInstance, send: Send, route: Route): void => {
  const { publicUrl } = app.config
  const { path, operationId, summary, description, tag, params, query: querystring, response, operation } = route
  const { problems = commonProblems, headers = {}, types = ['application/json'], isTypeInPath = false } = route
  app.get(
    path,
    {
      config: { isTypeInPath, ...(isTypeInPath ? {} : { mediaType: types[0] }) },
      schema: {
        operationId,
        summary,
        description,
        tags: [tag],
        ...(params && { params }),
        querystring,
        response: responses(response, problems, { description: route.responseDescription, headers, types }),
        ...(route.isHidden && { hide: true }),
      },
    },
    async (request, reply) => {
      const { params, query, url, reader, scope } = request
      const asked = { params: params as Asked['params'], query, url, base: () => baseOf(request, publicUrl) }
      return send(request, reply, await operation(reader, asked, scope))
    },
  )
}
