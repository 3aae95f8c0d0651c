// The two kinds of operation that every resource has: a list, and a record by its id.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fresh from 'fresh'
import { IdParams, type PageLimits } from '../../schemas/common.js'
import { one, type PageMetadata, page, partialPage } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import type { BsonDocument, BsonList } from '../bson/reader.js'
import { problem } from '../http/problems.js'
import { allEnded, atOnce, inTurns } from '../limits/work.js'
import type { Resource } from '../pipelines/resource.js'
import type { Listing } from '../pipelines/stages.js'
import { compileResponse, type ResponseSerializer } from '../serializer/compiler.js'
import { etagOf } from '../serializer/etag.js'
import { Skipped } from '../serializer/items.js'
import { compileSelections } from '../serializer/selections.js'
import { readPage, tokensOf } from './list-page.js'
import { linkHeader, pageMetadata, totalOf } from './page-metadata.js'
import { commonProblems, linked, responses, tagged } from './responses.js'

const LIST =
  'A page of the records that match every given filter, in the order of `sortBy` and `sortOrder`. To read a whole list, begin with `cursor=*`: such pages cost the same however deep they are, while the pages of a number cost more the higher it is.'
const RECORD = 'An id that another organisation has gets the same response as one that nobody has.'

/** Registers a list: a page of the records that match, and where the page stands in the whole list. */
export const listOperation = <Q extends Listing>(
  app: FastifyInstance,
  resource: Resource<Q>,
  limits: PageLimits,
): void => {
  const { collection, tag, operationIds, descriptions, query, list } = resource
  const item = resource.item.schema
  const operationId = operationIds.list
  const response = page(item)
  const serializeAll = compileResponse(response)
  const serializerOf = compileSelections(response, item)
  app.get(
    `/${collection}`,
    {
      schema: {
        operationId,
        summary: `Get ${collection}`,
        tags: [tag.name],
        description: `${descriptions.list}\n\n${LIST}`,
        querystring: query(limits),
        response: responses(partialPage(item), [...commonProblems, 'invalid_cursor', 'response_too_large'], {
          headers: linked,
        }),
      },
    },
    async (request, reply) => {
      const listing = request.query as Q
      const { scope, share } = request
      const tokens = tokensOf(scope, operationId, listing)
      const isCounted = (listing.total ?? (listing.cursor === undefined ? 'true' : 'false')) === 'true'
      const [found, counted] = await allEnded([
        readPage(listing, tokens.start, (slice) => app.store.aggregate(list(scope, listing, slice), share.reading)),
        isCounted ? share.count(() => app.store.count(list(scope, listing))) : undefined,
      ])
      const total = counted === undefined ? undefined : totalOf(listing, found, counted)
      const { fields, expand, embed, answers, unreadable } = listing
      const skipped = unreadable === 'skip' ? new Skipped() : undefined
      const _metadata = {
        ...pageMetadata(request, app.config.publicUrl, listing, found, total, tokens),
        ...(skipped && { unreadable: skipped.records }),
      }
      const isWhole = (fields ?? expand ?? embed ?? answers ?? scope.without) === undefined
      const serialize = isWhole ? serializeAll : serializerOf(listing, scope.without)
      return sendDocuments(request, reply, { data: found.data, _metadata }, serialize, skipped)
    },
  )
}

/** Registers a record by its id. The response to an id of another organisation is the same as to an unknown id. */
export const getOperation = (
  app: FastifyInstance,
  { collection, name, article, tag, operationIds, descriptions, parameters = {}, record, get }: Resource,
): void => {
  const response = one(record.schema)
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
        response: responses(response, [...commonProblems, 'not_found'], { headers: tagged }),
      },
    },
    async (request, reply) => {
      const { id } = request.params as { id: string }
      const { first } = await app.store.aggregate(get(request.scope, id), request.share.reading)
      if (first === undefined) throw problem('not_found', `No ${name} has this id`)
      const { answers } = request.query as Pick<Listing, 'answers'>
      return sendDocuments(request, reply, { data: first }, compileResponse(response, answers, request.scope.without))
    },
  )
}

/** Sends what was read, or a 304 if the caller has it already (RFC 9110, section 13). */
const sendDocuments = async (
  request: FastifyRequest,
  reply: FastifyReply,
  content: { data: BsonDocument | BsonList; _metadata?: PageMetadata },
  serialize: ResponseSerializer,
  skipped?: Skipped,
): Promise<FastifyReply> => {
  const { share, scope } = request
  const query = request.query as object
  const { data, _metadata } = content
  const isLarge = await share.claim(data.size)
  const { signal } = share.reading
  // The links of a page have all parameters. A record has but those that say how it is shown.
  const tag = etagOf(data, _metadata ?? (Object.keys(query).length > 0 ? query : undefined), scope.without)
  const etag = isLarge ? await inTurns(tag, signal) : atOnce(tag)
  reply.header('etag', etag)
  // The caller's Cache-Control is meant for caches, and browsers' `fetch` sends `no-cache` with every If-None-Match.
  const conditions = { 'if-none-match': request.headers['if-none-match'] }
  if (fresh(conditions, { etag })) return reply.code(304).send()
  const link = _metadata && linkHeader(_metadata)
  if (link !== undefined) reply.header('link', link)
  const envelope = { success: true, ...content }
  const body = isLarge ? await serialize.inSteps(envelope, signal, skipped) : serialize(envelope, skipped)
  reply.skipped = skipped?.records.length
  return reply.type('application/json; charset=utf-8').send(body)
}
