// GET /v1/exports/<name>.<format>: a whole list as a file.
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { openFile, type Wanted } from '../exports/file.js'
import { allExported, type Exported, type ExportListing, wrongFor } from '../exports/index.js'
import { cutOff } from '../http/caller.js'
import { LARGE } from '../limits/scheduler.js'
import { loggable } from '../plugins/request-log.js'
import { problem } from '../problems/problems.js'
import type { Doing } from '../reading/whole-list.js'
import { attached, commonProblems, FILE, responses } from './responses.js'

const EXPORT =
  'All records that match every given filter, as one file, in the order of their ids. It is sent while it is read, however large it is. If it cannot be completed, the connection breaks: a file whose transfer ended without an error is whole. Go on after a broken one with `idFrom`, the id of the last whole record.'
/** The path decides the media type, whatever the caller accepts. */
const exportProblems = commonProblems.filter((code) => code !== 'not_acceptable')
/** How long a file that has begun waits for its next part, in milliseconds. */
const WAIT_BETWEEN_MS = 60_000
/** How long a broken export waits for what was sent, and how often it looks. */
const SENDING_MS = 1000
const SENDING_STEP_MS = 10
/** How many records that were left out the log names. */
const MAX_LOGGED = 100

export const exportRoutes = (app: FastifyInstance): void => {
  const running = { exports: 0 }
  app.metrics?.observe('field_data.exports.running', () => running.exports)
  for (const exported of allExported) exportOperation(app, exported, running)
}

const exportOperation = (app: FastifyInstance, exported: Exported, running: { exports: number }): void => {
  const { name, formats, query, operationId } = exported
  app.get(
    `/exports/${name}.:format`,
    {
      config: { isTypeInPath: true, isLarge: () => true },
      schema: {
        operationId,
        summary: `Export ${name}`,
        description: EXPORT,
        tags: ['Exports'],
        params: FormatParams(formats),
        querystring: query,
        response: responses(FILE, exportProblems, {
          description: 'The file.',
          headers: attached,
          types: formats.map((format) => mediaTypes[format]),
        }),
      },
    },
    async (request, reply) => {
      const { format } = request.params as { format: FormatName }
      const listing = request.query as ExportListing
      requireFormatOf(listing, format)
      const today = new Date().toISOString().slice(0, 10)
      reply
        .type(format === 'csv' ? `${mediaTypes.csv}; charset=utf-8` : mediaTypes[format])
        .header('content-disposition', `attachment; filename="${name}-${today}.${format}"`)
      if (request.method === 'HEAD') return reply.send(Readable.from([]))

      running.exports += 1
      const wanted = { exported, format, scope: request.scope, listing }
      const skipped = await send(app, wanted, request, reply).finally(() => {
        running.exports -= 1
      })
      if (skipped.length > 0) {
        reply.skipped = skipped.length
        const records = skipped.slice(0, MAX_LOGGED).map(({ id, message }) => loggable(`${id}: ${message}`))
        request.log.warn({ records }, 'left out of an export')
      }
      return reply
    },
  )
}

/** Sends a file until all of it was sent, or it was broken off. Returns the records that were left out. */
const send = async (app: FastifyInstance, wanted: Wanted, request: FastifyRequest, reply: FastifyReply) => {
  const { ticket } = request
  const { parts, skipped } = await openFile(app.store, wanted, doingFor(app, request, reply))
  try {
    // An error before the first part is a usual problem. One behind it breaks the connection.
    const first = await parts.next()
    const file = Readable.from(joined(first, parts, reply), { objectMode: false, highWaterMark: 1 })
    file.once('error', (err) => {
      if (!ticket.signal.aborted) request.log.error({ err }, 'an export was broken off')
      cutOff(reply.raw)
    })
    reply.send(file)
    await finished(file).catch(() => {})
  } finally {
    await parts.return()
  }
  return skipped
}

/**
 * How the pieces of a file are made: each is a large task, and between two of them the request runs nothing. While the caller
 * reads one part, the next is made, so two of them are held.
 */
const doingFor = (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Doing => {
  const { ticket } = request
  const { raw } = reply
  let newest = 0
  /** All of the newest part, or nothing. */
  const unread = () => (raw.writableLength > 0 ? newest : 0)
  raw.on('drain', () => ticket.hold(unread()))
  return async (work) => {
    ticket.hold(unread())
    // A response that has begun would be broken off, so it waits longer.
    if (!ticket.isRunning) await ticket.enter(LARGE, raw.headersSent ? WAIT_BETWEEN_MS : undefined)
    try {
      await app.requireKey(request, reply)
      const made = await work(ticket)
      if (made instanceof Buffer) {
        ticket.hold(unread() + made.length)
        app.expectReading(reply, unread() + made.length)
        // A part may be empty.
        newest = made.length || newest
      }
      return made
    } finally {
      ticket.release()
    }
  }
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
  const errors = wrongFor(format, listing).map((error) => ({ in: 'query', ...error }))
  if (errors.length === 0) return
  throw problem('invalid_parameter', errors.map(({ name, message }) => `${name} ${message}`).join('; '), { errors })
}
