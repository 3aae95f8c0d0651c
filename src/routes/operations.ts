// The two kinds of operation that every resource has: a list, and a record by its id.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { IdParams, type PageLimits } from '../../schemas/common.js'
import { one, page as pageOf } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import type { BsonDocument } from '../bson/reader.js'
import { isKnown } from '../http/caller.js'
import { runInSlices } from '../limits/work.js'
import type { Resource } from '../pipelines/resource.js'
import type { Listing } from '../pipelines/stages.js'
import { isLargeListing } from '../reading/cost.js'
import { readList, readOne } from '../reading/list.js'
import { etagOf } from '../serializer/etag.js'
import { json, jsonArray } from '../serializer/json.js'
import { Output } from '../serializer/output.js'
import { type OnFailure, type RowFormat, writeAll } from '../serializer/rows.js'
import { Skipped } from '../serializer/skipped.js'
import { compileDocuments } from '../serializer/writer.js'
import { linkHeader, pageMetadata } from './page-metadata.js'
import { commonProblems, linked, responses, tagged } from './responses.js'

const JSON_TYPE = 'application/json; charset=utf-8'
const LIST =
  'A page of the records that match every given filter, in the order of `sortBy` and `sortOrder`. To read a whole list, begin with `cursor=*`: such pages cost the same however deep they are, while the pages of a number cost more the higher it is.'
const RECORD = 'An id that another organisation has gets the same response as one that nobody has.'

export const listOperation = <Q extends Listing>(
  app: FastifyInstance,
  resource: Resource<Q>,
  limits: PageLimits,
): void => {
  const { collection, tag, operationIds, descriptions, query } = resource
  const item = resource.item.schema
  app.get(
    `/${collection}`,
    {
      config: { isLarge: ({ query }) => isLargeListing(app.store, resource, query as Q) },
      schema: {
        operationId: operationIds.list,
        summary: `Get ${collection}`,
        tags: [tag.name],
        description: `${descriptions.list}\n\n${LIST}`,
        querystring: query(limits),
        response: responses(pageOf(item), [...commonProblems, 'invalid_cursor', 'response_too_large'], {
          headers: linked,
        }),
      },
    },
    async (request, reply) => {
      const { scope, ticket } = request
      const read = await readList(app.store, resource, scope, request.query as Q, ticket)
      const { listing, tokens, projection, page, total } = read
      const metadata = pageMetadata(request, app.config.publicUrl, listing, page, total, tokens)
      if (await hasRecords(request, reply, page.rows, metadata)) return reply
      const link = linkHeader(metadata)
      if (link !== undefined) reply.header('link', link)
      return sendPage(request, reply, page.rows, jsonArray(projection.compiled(compileDocuments)), metadata)
    },
  )
}

/** Registers a record by its id. The response to an id of another organisation is the same as to an unknown id. */
export const getOperation = (app: FastifyInstance, resource: Resource): void => {
  const { collection, name, article, tag, operationIds, descriptions, parameters = {}, record } = resource
  app.get(
    `/${collection}/:id`,
    {
      schema: {
        operationId: operationIds.get,
        summary: `Get ${article} ${name} by its id`,
        tags: [tag.name],
        description: `${descriptions.get}\n\n${RECORD}`,
        params: IdParams(name),
        querystring: strict(parameters),
        response: responses(one(record.schema), [...commonProblems, 'not_found', 'response_too_large'], {
          headers: tagged,
        }),
      },
    },
    async (request, reply) => {
      const { id } = request.params as { id: string }
      const { scope, ticket } = request
      const query = request.query as Pick<Listing, 'answers'>
      const { document, projection } = await readOne(app.store, resource, scope, id, query, ticket)
      const shown = Object.keys(query).length > 0 ? query : undefined
      if (await hasRecords(request, reply, [document], shown)) return reply
      const out = new Output()
      out.text('{"success":true,"data":')
      projection.compiled(compileDocuments)(document, out)
      out.text('}')
      return reply.type(JSON_TYPE).send(out.take())
    },
  )
}

/**
 * Sends a page of records with its metadata. With `unreadable=skip` the page leaves out records that do not fit, and names
 * them.
 * @param onFailure what is done with such a record otherwise; by default the page fails
 */
export const sendPage = async <T extends BsonDocument>(
  { query, ticket }: FastifyRequest,
  reply: FastifyReply,
  rows: readonly T[],
  format: RowFormat<T>,
  metadata: object,
  onFailure?: OnFailure<T>,
) => {
  const { unreadable } = query as Pick<Listing, 'unreadable'>
  const skipped = unreadable === 'skip' ? new Skipped() : undefined
  const out = new Output()
  out.text('{"success":true,"data":')
  await runInSlices(writeAll(rows, format, out, skipped?.add ?? onFailure), ticket.signal)
  reply.skipped = skipped?.records.length
  const _metadata = { ...metadata, ...(skipped && { unreadable: skipped.records }) }
  out.text(`,"_metadata":${json(_metadata)}}`)
  return reply.type(JSON_TYPE).send(out.take())
}

/**
 * Whether the caller has a response already. Then it gets a 304.
 * @param besides what the response depends on besides the records
 */
const hasRecords = async (
  request: FastifyRequest,
  reply: FastifyReply,
  records: readonly BsonDocument[],
  besides?: object,
): Promise<boolean> => {
  const { scope, ticket } = request
  return isKnown(request, reply, await runInSlices(etagOf(records, besides, scope.without), ticket.signal))
}
