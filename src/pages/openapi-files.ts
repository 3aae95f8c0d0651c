// The OpenAPI document as the files /openapi.json and /openapi.yaml.
import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { baseOf } from '../core/http/caller.js'
import { fileOf, serve } from './files.js'

const HEADERS = { vary: 'accept-encoding, origin', 'x-content-type-options': 'nosniff' }

/** For how many addresses of the service the document is kept: those that were asked for last. */
const MAX_ADDRESSES = 8
/** Callers can invent addresses, so compressing for one takes only some milliseconds. */
const LEVEL = 4

/** Where the texts of the document have the address of the service, if there is no public URL. */
const SERVER = /(?<=\burl"?: ?"?)\/(?=["\n])/

/** The document at its paths. Its server has an absolute URL, because not every program takes a relative one. */
export const openapiRoutes = (app: FastifyInstance): void => {
  const texts = { json: () => JSON.stringify(app.swagger()), yaml: () => app.swagger({ yaml: true }) }
  for (const [format, text] of Object.entries(texts)) {
    let relative: string | undefined
    const files = new LRUCache<string, ReturnType<typeof fileOf>>({
      max: MAX_ADDRESSES,
      memoMethod(address) {
        relative ??= text()
        return fileOf(Buffer.from(relative.replace(SERVER, () => address)), LEVEL)
      },
    })
    const send: ReturnType<typeof fileOf> = (request, reply) => files.memo(baseOf(request))(request, reply)
    const headers = { ...HEADERS, 'content-type': `application/${format}; charset=utf-8` }
    serve(app, `/openapi.${format}`, send, headers)
  }
}
