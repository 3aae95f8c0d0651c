// The files of pages for people, from memory. Each is compressed once.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isKnown } from '../http/caller.js'
import { acceptedCoding, type Coding, compress } from '../plugins/compression.js'

export const pages = new URL('../../../pages/', import.meta.url)

/** The types of files by the ending of their path. That of a page has none. */
const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.py': 'text/plain; charset=utf-8',
  '': 'text/html; charset=utf-8',
}
/** Quality 9 takes 0.6 s for the files of /docs; the best one makes them a tenth smaller and takes ten times as long. */
const LEVEL = 9
/** For how many addresses of the service a file is kept: those that were asked for last. */
const MAX_ADDRESSES = 8

const hashOf = (body: Buffer): string => createHash('sha256').update(body).digest('hex').slice(0, 12)

/**
 * Adds the headers of a page to all responses of this instance.
 * @param sources from where the page may load what
 */
export const protectPages = (app: FastifyInstance, sources: readonly string[]): void => {
  const policy = [...sources, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
  const headers = { 'content-security-policy': policy.join('; '), 'x-content-type-options': 'nosniff' }
  app.addHook('onRequest', (_request, reply, next) => {
    reply.headers(headers)
    next()
  })
}

const made = async (making: Buffer | Promise<Buffer>) => {
  const body = await making
  return { body, etag: `W/"${hashOf(body)}"`, compressed: new Map<Coding, Promise<Buffer>>() }
}
type SendFile = (request: FastifyRequest, reply: FastifyReply) => Promise<Buffer | FastifyReply>

/**
 * Sends a file from memory, or a 304 to a caller that has it. For each of the last addresses of the service it is kept.
 * Callers can invent addresses, so beyond the first few it is compressed when somebody asks for the same address again.
 * @param addressOf the address on which the content depends, if it does
 */
export const fileOf = (
  make: (request: FastifyRequest) => Buffer | Promise<Buffer>,
  addressOf: (request: FastifyRequest) => string = () => '',
): SendFile => {
  const files = new LRUCache<string, ReturnType<typeof made>>({ max: MAX_ADDRESSES })
  return async (request, reply) => {
    const address = addressOf(request)
    const kept = files.get(address)
    const isCompressible = kept !== undefined || files.size < MAX_ADDRESSES
    // All who ask at once get the same, and one that failed is made again.
    const making = kept ?? made(make(request))
    files.set(address, making)
    making.catch(() => files.delete(address))
    const file = await making
    if (isKnown(request, reply, file.etag)) return reply
    const coding = isCompressible ? acceptedCoding(request) : undefined
    if (coding === undefined) return file.body
    reply.header('content-encoding', coding)
    const compressed = file.compressed.get(coding) ?? compress(file.body, coding, LEVEL)
    file.compressed.set(coding, compressed)
    compressed.catch(() => file.compressed.delete(coding))
    return compressed
  }
}

/** The same for a file that never changes. */
export const fixed = (body: Buffer): SendFile => fileOf(() => body)

/** Serves a file at a path. */
export const serve = (
  app: FastifyInstance,
  path: string,
  send: SendFile,
  headers: Record<string, string> = {},
): void => {
  const usual = { 'content-type': TYPES[extname(path)], 'cache-control': 'no-cache', vary: 'accept-encoding' }
  app.get(path, { schema: { hide: true } }, (request, reply) => send(request, reply.headers({ ...usual, ...headers })))
}

/**
 * Serves the files of a page from a folder whose name changes with the content of any of them, so that browsers keep them, and
 * they find each other by their plain names. Returns the path of the folder.
 */
export const serveFiles = (app: FastifyInstance, page: string, urls: readonly URL[]): string => {
  const files = urls.map((url) => ({ name: basename(url.pathname), body: readFileSync(url) }))
  const folder = `${page}/files/${hashOf(Buffer.concat(files.map(({ body }) => body)))}`
  const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
  for (const { name, body } of files) serve(app, `/${folder}/${name}`, fixed(body), headers)
  return folder
}

/**
 * Serves a page. Its address is without a slash at its end, so that the page can name its files relative to one address
 * behind a proxy with a prefix.
 * @param replacements what stands in the page between two %, by its name
 */
export const servePage = (
  app: FastifyInstance,
  path: string,
  file: string,
  replacements: Readonly<Record<string, string>>,
): void => {
  const html = readFileSync(new URL(file, pages), 'utf8')
  const page = Buffer.from(html.replace(/%(\w+)%/g, (_, name) => replacements[name] as string))
  serve(app, path, fixed(page))
}

/** Leads from an address with a slash at its end to that of the page. */
export const leadToPage = (app: FastifyInstance, path: string): void => {
  app.get(`${path}/`, { schema: { hide: true } }, (_request, reply) => reply.redirect(`..${path}`, 301))
}
