// The two kinds of operation: a list and a record by its id. What a route adds is its names, schemas and pipeline.
import { setImmediate } from 'node:timers/promises'
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { IdParams } from '../../schemas/common.js'
import { one, page } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import type { BsonList } from '../bson/reader.js'
import { callerGone } from '../http/caller.js'
import { type ProblemCode, problem } from '../http/problems.js'
import type { Listing, Query, Scope } from '../pipelines/stages.js'
import { pageMetadata, totalFrom } from './page-metadata.js'
import { databaseProblems, notModified, problemResponses, requestProblems, taggedResponse } from './responses.js'
import { unlessKnown } from './revalidation.js'

const commonProblems: ProblemCode[] = [
  'invalid_parameter',
  'unauthorized',
  'overloaded',
  ...requestProblems,
  ...databaseProblems,
]

interface Operation {
  operationId: string
  url: string
  tag: string
  summary: string
}

/** Registers a list: a page of the records that match, and where it stands in the whole. */
export const listOperation = <Q extends Listing>(
  app: FastifyInstance,
  operation: Operation & {
    query: TObject
    item: TSchema
    pipeline: (scope: Scope, listing: Q) => Query
  },
): void => {
  const { url, query, item, pipeline } = operation
  app.get(
    url,
    {
      schema: {
        ...described(operation),
        querystring: query,
        response: {
          200: taggedResponse(page(item), url),
          304: notModified,
          ...problemResponses([...commonProblems, 'response_too_large']),
        },
      },
    },
    async (request, reply) => {
      const listing = request.query as Q
      const found = pipeline(request.scope, listing)
      const read = (query: Query) => app.store.aggregate(query, callerGone(request))
      const [data, counted] = await Promise.all([read(found), app.store.count(found)])
      request.share.claim(data.size)
      await betweenSteps(data)
      const total = await totalFrom(data, counted, listing, async (page) => {
        const { first } = await read(pipeline(request.scope, { ...listing, page, perPage: 1 }))
        return first !== undefined
      })
      const _metadata = pageMetadata(request, app.config.publicUrl, listing, total)
      const response = unlessKnown(request, reply, { success: true, data, _metadata })
      await betweenSteps(data)
      return response
    },
  )
}

/** Of more bytes, each step of work on a page takes milliseconds. */
const LARGE_BYTES = 512 * 1024

/** Reads what has arrived from other callers before the next step of work on a large page. */
const betweenSteps = ({ size }: BsonList): Promise<void> | undefined =>
  size > LARGE_BYTES ? setImmediate() : undefined

/** Registers a record by its id. One of another organisation is as unknown as one that does not exist. */
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
      const { first } = await app.store.aggregate(pipeline(request.scope, id))
      if (first === undefined) throw problem('not_found', `No ${name} has this id`)
      return unlessKnown(request, reply, { success: true, data: first })
    },
  )
}

/** What OpenAPI says of an operation beside its parameters and responses. */
const described = ({ operationId, summary, tag }: Operation) => ({ operationId, summary, tags: [tag] })
