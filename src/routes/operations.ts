// The two kinds of operation: a list, and a record by its id. Each resource adds its names, schemas and pipelines.
import { setImmediate } from 'node:timers/promises'
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { IdParams } from '../../schemas/common.js'
import { one, page, partialPage } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import { callerGone } from '../http/caller.js'
import { type ProblemCode, problem } from '../http/problems.js'
import type { Listing, Query, Scope } from '../pipelines/stages.js'
import { compileResponse } from '../serializer/compiler.js'
import { compileSelections } from '../serializer/selections.js'
import { readPage, tokensOf } from './list-page.js'
import { linkHeader, pageMetadata, totalOf } from './page-metadata.js'
import {
  databaseProblems,
  notModified,
  pageResponse,
  problemResponses,
  requestProblems,
  taggedResponse,
} from './responses.js'
import { isKnown } from './revalidation.js'

/** The problems that every operation under /v1 can have. */
export const commonProblems: ProblemCode[] = [
  'invalid_parameter',
  'unauthorized',
  'overloaded',
  ...requestProblems,
  ...databaseProblems,
]

const LIST =
  'A page of the records that match every given filter, in the order of `sortBy` and `sortOrder`. To read a whole list, begin with `cursor=*`: such pages cost the same however deep they are, while the pages of a number cost more the higher it is.'
const RECORD = 'An id that another organisation has gets the same response as one that nobody has.'

/** A page of more bytes takes milliseconds to process, so other requests get their turn in between. */
export const LARGE_BYTES = 512 * 1024

interface Operation {
  operationId: string
  url: string
  tag: string
  summary: string
  /** What it is for, and what to look out for. What holds for all operations of its kind is added. */
  description: string
}

/** Registers a list: a page of the records that match, and where the page stands in the whole list. */
export const listOperation = <Q extends Listing>(
  app: FastifyInstance,
  operation: Operation & {
    query: TObject
    item: TObject
    pipeline: (scope: Scope, listing: Q) => Query
  },
): void => {
  const { url, query, item, pipeline } = operation
  const response = page(item)
  const serializeAll = compileResponse(response)
  const serializerOf = compileSelections(response, item)
  app.get(
    url,
    {
      schema: {
        ...described(operation),
        description: `${operation.description}\n\n${LIST}`,
        querystring: query,
        response: {
          200: pageResponse(partialPage(item)),
          304: notModified,
          ...problemResponses([...commonProblems, 'invalid_cursor', 'response_too_large']),
        },
      },
    },
    async (request, reply) => {
      const listing = request.query as Q
      const signal = callerGone(request)
      const { scope } = request
      const tokens = tokensOf(scope, operation.operationId, listing)
      const isCounted = (listing.total ?? (listing.cursor === undefined ? 'true' : 'false')) === 'true'
      const [found, counted] = await Promise.all([
        readPage(listing, tokens.start, (slice) => app.store.aggregate(pipeline(scope, { ...listing, slice }), signal)),
        isCounted ? app.store.count(pipeline(scope, listing)) : undefined,
      ])
      const { data } = found
      request.share.claim(data.size)
      const isLarge = data.size > LARGE_BYTES
      if (isLarge) await setImmediate()
      const total = counted === undefined ? undefined : totalOf(listing, found, counted)
      const _metadata = pageMetadata(request, app.config.publicUrl, listing, found, total, tokens)
      if (isKnown(request, reply, data, _metadata)) return reply.code(304).send()
      const link = linkHeader(_metadata)
      if (link !== undefined) reply.header('link', link)
      const envelope = { success: true, data, _metadata }
      const serialize = listing.fields === undefined ? serializeAll : serializerOf(listing.fields)
      const body = isLarge ? await serialize.inSteps(envelope) : serialize(envelope)
      return reply.type('application/json; charset=utf-8').send(body)
    },
  )
}

/** Registers a record by its id. The response to an id of another organisation is the same as to an unknown id. */
export const getOperation = (
  app: FastifyInstance,
  operation: Operation & {
    resource: TSchema
    pipeline: (scope: Scope, id: string) => Query
  },
): void => {
  const { url, resource, pipeline } = operation
  const name = (resource.$id as string).toLowerCase()
  app.get(
    url,
    {
      schema: {
        ...described(operation),
        description: `${operation.description}\n\n${RECORD}`,
        params: IdParams(name),
        querystring: strict({}),
        response: {
          200: taggedResponse(one(resource)),
          304: notModified,
          ...problemResponses([...commonProblems, 'not_found']),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params as { id: string }
      // This read is too short to be interrupted, which would close a connection to the database.
      const { first } = await app.store.aggregate(pipeline(request.scope, id))
      if (reply.raw.closed) return reply.hijack()
      if (first === undefined) throw problem('not_found', `No ${name} has this id`)
      return isKnown(request, reply, first) ? reply.code(304).send() : { success: true, data: first }
    },
  )
}

/** The description of an operation in OpenAPI, without its parameters and responses. */
const described = ({ operationId, summary, tag }: Operation) => ({ operationId, summary, tags: [tag] })
