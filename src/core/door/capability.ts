// What a capability is: a folder whose index.ts exports one of these, which src/capabilities.ts lists. Nothing else names it.
// Its operations are rows of one table, and each becomes a route of Fastify.
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { baseOf } from '../http/caller.js'
import type { KeyScope } from '../keys/keys.js'
import type { ProblemCode } from '../problems/problems.js'
import type { Reader } from '../read/reader.js'
import type { Answer, Asked } from './answer.js'
import { commonProblems, responses } from './responses.js'
import { sender } from './send.js'
import type { Tool } from './tools.js'

export interface Tag {
  readonly name: string
  readonly description: string
  /** Whether its operations have the filters of lists. Then these are named after the list. */
  readonly hasFiltersOfLists?: true
}

export interface Capability {
  readonly tags?: readonly Tag[]
  /** Operations under /v1. */
  readonly routes?: (app: FastifyInstance) => readonly Route[]
  readonly tools?: Readonly<Record<string, Tool>>
  /** A door of its own beside /v1, for callers with a key. */
  readonly door?: (app: FastifyInstance, all: readonly Capability[]) => void
}

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

export const addOperations = (app: FastifyInstance, all: readonly Capability[]): void => {
  const send = sender(app)
  for (const route of all.flatMap(({ routes }) => routes?.(app) ?? [])) {
    const { path, operationId, summary, description, tag, params, query: querystring, operation } = route
    const { problems = commonProblems, headers = {}, types = ['application/json'], isTypeInPath = false } = route
    const response = responses(route.response, problems, { description: route.responseDescription, headers, types })
    const documented = { operationId, summary, description, tags: [tag], hide: route.isHidden ?? false }
    const schema = { ...documented, ...(params && { params }), querystring, response }
    app.get(path, { config: { isTypeInPath, mediaType: types[0] }, schema }, async (request, reply) => {
      const { params, query, url, reader, scope } = request
      const asked = { params: params as Asked['params'], query, url, base: () => baseOf(request) }
      return send(reply, await operation(reader, asked, scope))
    })
  }
}
