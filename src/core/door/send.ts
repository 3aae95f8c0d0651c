// Sends what an operation has found: the one way of all responses with data. Everything is written in slices.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { isKnown } from '../http/caller.js'
import { runInSlices } from '../limits/work.js'
import { etagOf } from '../write/etag.js'
import { writeValue } from '../write/json.js'
import { Output } from '../write/output.js'
import { writeAll } from '../write/rows.js'
import type { Answer, RowsAnswer } from './answer.js'
import { sendFile } from './send-file.js'

export const sender = (app: FastifyInstance) => {
  let files = 0
  app.metrics?.observe('field_data.exports.running', () => files)
  return async (reply: FastifyReply, answer: Answer): Promise<FastifyReply> => {
    const { request } = reply
    const { ticket, scope, method } = request
    const { mediaType = 'application/json; charset=utf-8', fileName, tag } = answer
    await app.requireKey(request, reply)
    // Requests that waited for a change end when the service closes, and so do their connections.
    if (app.closing.aborted) reply.header('connection', 'close')
    reply.type(mediaType)
    if (fileName !== undefined) reply.header('content-disposition', `attachment; filename="${fileName}"`)
    if (tag !== undefined) {
      const { documents = [], values } = tag
      const etag = await runInSlices(etagOf(documents, values, scope.without), ticket.signal)
      if (isKnown(request, reply, etag)) return reply
    }
    if ('link' in answer && answer.link !== undefined) reply.header('link', answer.link)
    // What may be large is not written for a HEAD. A stream of nothing says nothing of its length.
    if (method === 'HEAD' && (!('rows' in answer) || answer.size !== undefined)) return reply.send(Readable.from([]))
    if ('parts' in answer) {
      files += 1
      return sendFile(reply, answer).finally(() => {
        files -= 1
      })
    }
    if (answer.size !== undefined) await ticket.charge(answer.size)
    const out = new Output()
    await runInSlices('value' in answer ? writeValue(answer.value, out) : written(answer, out), ticket.signal)
    if ('rows' in answer) {
      reply.skipped = answer.skipped?.records.length
      if (method !== 'HEAD') reply.rows = answer.rows.length - (reply.skipped ?? 0)
    }
    return reply.send(out.take())
  }
}

function* written<R>({ rows, format, envelope, skipped, onFailure }: RowsAnswer<R>, out: Output): Generator<void> {
  if (envelope !== undefined)
    out.text(`${JSON.stringify(envelope.before).slice(0, -1)},${JSON.stringify(envelope.name)}:`)
  yield* writeAll(rows, format, out, skipped?.add ?? onFailure)
  if (envelope === undefined) return
  const after = JSON.stringify(envelope.after()).slice('{'.length)
  out.text(after === '}' ? after : `,${after}`)
}
