// The OpenAPI document as the files /openapi.json and /openapi.yaml.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { baseOf } from '../plugins/address.js'
import { fileOf, serve } from './files.js'

const HEADERS = { vary: 'accept-encoding, origin', 'x-content-type-options': 'nosniff' }

/** Where the texts of the document have the address of the service, if there is no public URL. */
const SERVER = /(?<=\burl"?: ?"?)\/(?=["\n])/

/** The document at its paths. Its server has an absolute URL, because not every program takes a relative one. */
export const openapiRoutes = (app: FastifyInstance): void => {
  const { publicUrl } = app.config
  const texts = { json: () => JSON.stringify(app.swagger()), yaml: () => app.swagger({ yaml: true }) }
  for (const [format, text] of Object.entries(texts)) {
    const addressOf = (request: FastifyRequest) => baseOf(request, publicUrl)
    let relative: string | undefined
    const send = fileOf((request) => {
      relative ??= text()
      return Buffer.from(relative.replace(SERVER, () => addressOf(request)))
    }, addressOf)
    const headers = { ...HEADERS, 'content-type': `application/${format}; charset=utf-8` }
    // /docs/json and /docs/yaml are the addresses of earlier releases.
    for (const path of [`/openapi.${format}`, `/docs/${format}`]) serve(app, path, send, headers)
  }
}
