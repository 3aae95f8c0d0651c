// GET /v1/exports/<name>.<format>: a whole list as a file.
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { csvParameters, type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { fileOf } from '../exports/file.js'
import { allExported, type Exported, type ExportListing, encoderOf, selectionOf } from '../exports/index.js'
import { Pages } from '../exports/pages.js'
import { hasQuestions, questionsOf } from '../exports/questions.js'
import { cutOff } from '../http/caller.js'
import { problem } from '../http/problems.js'
import { loggable } from '../plugins/request-log.js'
import { Skipped } from '../serializer/items.js'
import { commonProblems, fileResponses } from './responses.js'

const EXPORT =
  'All records that match every given filter, as one file, in the order of their ids. It is sent while it is read, however large it is. If it cannot be completed, the connection breaks: a file whose transfer ended without an error is whole. Go on after a broken one with `idFrom`, the id of the last whole record.'
/** The most bytes of JSON that tell of records that are left out. */
const MAX_SKIPPED_BYTES = 1024 * 1024
/** How long a broken export waits for what was sent, and how often it looks. */
const SENDING_MS = 1000
const SENDING_STEP_MS = 10
/** How many of them the log names. */
const MAX_LOGGED = 100

export const exportRoutes = (app: FastifyInstance): void => {
  for (const exported of allExported) exportOperation(app, exported)
}

const exportOperation = (app: FastifyInstance, exported: Exported): void => {
  const { name, formats, query, operationId } = exported
  app.get(
    `/exports/${name}.:format`,
    {
      config: { mediaTypeOf: ({ params }: FastifyRequest) => mediaTypes[(params as { format: FormatName }).format] },
      schema: {
        operationId,
        summary: `Export ${name}`,
        description: EXPORT,
        tags: ['Exports'],
        params: FormatParams(formats),
        querystring: query,
        response: fileResponses(
          formats.map((format) => mediaTypes[format]),
          commonProblems,
        ),
      },
    },
    async (request, reply) => {
      const { format } = request.params as { format: FormatName }
      const listing = request.query as ExportListing
      requireFormatOf(listing, format)
      reply
        .type(format === 'csv' ? `${mediaTypes.csv}; charset=utf-8` : mediaTypes[format])
        .header(
          'content-disposition',
          `attachment; filename="${name}-${new Date().toISOString().slice(0, 10)}.${format}"`,
        )
      if (request.method === 'HEAD') return reply.send(Readable.from([]))

      const { scope, share } = request
      const skipped = listing.unreadable === 'skip' ? new Skipped(MAX_SKIPPED_BYTES) : undefined
      const questions = hasQuestions(exported, format, listing)
        ? await share.inLargeQueue((reading) =>
            questionsOf(exported, scope, listing, (query) => app.store.aggregate(query, reading)),
          )
        : undefined
      const encoder = encoderOf(exported, format, listing, { questions, skipped })
      const pages = new Pages(exported.resource, scope, selectionOf(exported, format, listing), listing.limit)
      const parts = fileOf(app.store, pages, encoder, (work) => share.turn(work))
      try {
        // An error before the first part is a usual problem. One behind it breaks the connection.
        const first = await parts.next()
        const file = Readable.from(joined(first, parts, reply), { objectMode: false, highWaterMark: 1 })
        file.once('error', (err) => {
          if (!share.reading.signal.aborted) request.log.error({ err }, 'an export was broken off')
          cutOff(request.raw)
        })
        reply.send(file)
        await finished(file).catch(() => {})
      } finally {
        await parts.return()
      }
      if (skipped !== undefined && skipped.records.length > 0) {
        reply.skipped = skipped.records.length
        const records = skipped.records.slice(0, MAX_LOGGED).map(({ id, message }) => loggable(`${id}: ${message}`))
        request.log.warn({ records }, 'left out of an export')
      }
      return reply
    },
  )
}

/** All parts of a file. Before it fails, it gives what was sent the time to leave, because a closed connection drops it. */
async function* joined(
  first: IteratorResult<Buffer, void>,
  others: AsyncGenerator<Buffer, void>,
  { raw, request }: FastifyReply,
) {
  if (first.done) return
  yield first.value
  try {
    yield* others
  } catch (error) {
    const isSending = () => !raw.headersSent || request.socket.writableLength > 0
    for (let ms = 0; ms < SENDING_MS && (ms === 0 || isSending()); ms += SENDING_STEP_MS) {
      await setTimeout(SENDING_STEP_MS)
    }
    throw error
  }
}

/** @throws the problem `invalid_parameter` if a parameter is not one of the format */
const requireFormatOf = (listing: ExportListing, format: FormatName): void => {
  if (format === 'csv') return
  const errors = [...Object.keys(csvParameters), 'names']
    .filter((name) => listing[name as keyof ExportListing] !== undefined)
    .map((name) => ({ in: 'query', name, message: 'must be left out: only csv has it' }))
  if (errors.length === 0) return
  throw problem('invalid_parameter', errors.map(({ name, message }) => `${name} ${message}`).join('; '), { errors })
}
