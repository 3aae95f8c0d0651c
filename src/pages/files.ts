// The files of pages for people, from memory. Each is compressed once.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '../core/http/caller.js'
import { acceptedCoding, type Coding, compress } from '../core/http/compression.js'

export const PAGES = new URL('../../../pages/', import.meta.url)

/** The types of files by the ending of their path. That of a page has none. */
const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.py': 'text/plain; charset=utf-8',
  '.ts': 'text/plain; charset=utf-8',
  '': 'text/html; charset=utf-8',
}
/** Quality 9 takes 0.6 s for the files of /docs; the best one makes them a tenth smaller and takes ten times as long. */
const LEVEL = 9

const hashOf = (body: Buffer): string => createHash('sha256').update(body).digest('hex').slice(0, 12)

/** Adds the headers of a page to all responses of this instance. The sources are from where it may load what. */
export const protectPages = (app: FastifyInstance, sources: readonly string[]): void => {
  const policy = [...sources, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
  const headers = { 'content-security-policy': policy.join('; '), 'x-content-type-options': 'nosniff' }
  app.addHook('onRequest', (_request, reply, next) => {
    reply.headers(headers)
    next()
  })
}

type SendFile = (request: FastifyRequest, reply: FastifyReply) => Promise<Buffer | FastifyReply>

/** Sends a file from memory, or a 304 to a caller that has it. It is compressed once for each coding. */
export const fileOf = (body: Buffer, level = LEVEL): SendFile => {
  const etag = `W/"${hashOf(body)}"`
  const compressed = new Map<Coding, Promise<Buffer>>()
  return async (request, reply) => {
    if (isKnown(request, reply, etag)) return reply
    const coding = acceptedCoding(request)
    if (coding === undefined) return body
    reply.header('content-encoding', coding)
    // All who ask at once get the same, and what failed is done again.
    const compressing = compressed.get(coding) ?? compress(body, coding, level)
    compressed.set(coding, compressing)
    compressing.catch(() => compressed.delete(coding))
    return compressing
  }
}

export const serve = (app: FastifyInstance, path: string, send: SendFile, headers: Record<string, string> = {}) => {
  const usual = { 'content-type': TYPES[extname(path)], 'cache-control': 'no-cache', vary: 'accept-encoding' }
  app.get(path, { schema: { hide: true } }, (request, reply) => send(request, reply.headers({ ...usual, ...headers })))
}

/** The files of a page, by their plain names in a folder named by their content, so that browsers keep them. */
export const folderOf = (page: string, urls: readonly URL[]) => {
  const bodies = urls.map((url) => readFileSync(url))
  const folder = `${page}/files/${hashOf(Buffer.concat(bodies))}`
  return { folder, files: urls.map(({ pathname }, n) => [basename(pathname), fileOf(bodies[n] as Buffer)] as const) }
}

export const serveFiles = (app: FastifyInstance, { folder, files }: ReturnType<typeof folderOf>): string => {
  const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
  for (const [name, send] of files) serve(app, `/${folder}/${name}`, send, headers)
  return folder
}

/** Serves a page without a slash, so that its relative names are right behind a prefix. %NAME% is replaced in it. */
export const servePage = (app: FastifyInstance, path: string, file: string, replacements: Record<string, string>) => {
  const html = readFileSync(new URL(file, PAGES), 'utf8')
  const page = Buffer.from(html.replace(/%(\w+)%/g, (_, name) => replacements[name] as string))
  serve(app, path, fileOf(page))
}

/** Leads from an address with a slash at its end to that of the page. */
export const leadToPage = (app: FastifyInstance, path: string): void => {
  app.get(`${path}/`, { schema: { hide: true } }, (_request, reply) => reply.redirect(`..${path}`, 301))
}
