// Compresses large responses with Brotli or gzip, as the caller's Accept-Encoding allows (RFC 9110, section 12.5.3), and
// gives the buffer of a response back to the writer once it is compressed or sent.
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { mediaTypes } from '../../../schemas/exports.js'
import { giveBack } from '../write/output.js'
import { whenOver } from './caller.js'

/** Smaller responses fit into a few packets and are not compressed. */
const MIN_BYTES = 4096
/** Levels that save another percent of the size take at least twice the time (docs/decisions/0005-conditional-requests.md). */
const LEVEL = 1
const COMPRESSED = new Set<string>([mediaTypes.parquet, mediaTypes.xlsx])

export type Coding = 'br' | 'gzip'

const plugin = async (app: FastifyInstance) => {
  app.addHook('onSend', (request, reply, payload, next) => {
    if (payload instanceof Readable) {
      const isText = !COMPRESSED.has(String(reply.getHeader('content-type')))
      const streamed = isText ? acceptedCoding(request) : undefined
      if (streamed !== undefined) reply.header('content-encoding', streamed)
      return next(null, streamed === undefined ? payload : compressed(payload, streamed))
    }
    const isCompressible = isLarge(payload) && !reply.hasHeader('content-encoding')
    const coding = isCompressible ? acceptedCoding(request) : undefined
    const done = () => payload instanceof Buffer && giveBack(payload)
    if (!isCompressible || coding === undefined) {
      if (payload instanceof Buffer) whenOver(reply, done)
      return next()
    }
    reply.header('content-encoding', coding)
    compress(payload, coding, LEVEL)
      .finally(done)
      .then((compressed) => next(null, compressed), next)
  })
}
export const compressionPlugin = fp(plugin, { name: 'compression', fastify: '5.x', dependencies: ['@fastify/accepts'] })

/** Each part is sent at once, and an error of the source breaks off what is compressed as well. */
const compressed = (source: Readable, coding: Coding): Readable => {
  const { BROTLI_PARAM_QUALITY, BROTLI_OPERATION_FLUSH, Z_SYNC_FLUSH } = constants
  const zlib =
    coding === 'gzip'
      ? createGzip({ level: LEVEL, flush: Z_SYNC_FLUSH })
      : createBrotliCompress({ params: { [BROTLI_PARAM_QUALITY]: LEVEL }, flush: BROTLI_OPERATION_FLUSH })
  return pipeline(source, zlib, () => {})
}

export const compress = (payload: string | Buffer, coding: Coding, level: number): Promise<Buffer> => {
  if (coding === 'gzip') return promisify(gzip)(payload, { level })
  const params = { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_SIZE_HINT]: payload.length }
  return promisify(brotliCompress)(payload, { params })
}

/** The coding of a response: Brotli before gzip, whatever weights the caller gives them. */
export const acceptedCoding = (request: FastifyRequest): Coding | undefined =>
  (['br', 'gzip'] as const).find((coding) => request.accepts().encodings([coding]) === coding)

const isLarge = (payload: unknown): payload is string | Buffer =>
  (typeof payload === 'string' || payload instanceof Buffer) && payload.length >= MIN_BYTES
