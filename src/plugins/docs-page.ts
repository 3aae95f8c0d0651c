// The documentation for people: /docs, a guide with Swagger UI below it, the programs that the guide links, and /docs/errors,
// to which problems lead. The pages are in pages/. All files are compressed once. The names of style sheets, scripts and
// images change with their content, so that browsers keep them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname, parse } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { noSuchPath, problems } from '../http/problems.js'
import { acceptedCoding, type Coding, compress } from './compression.js'

/** The pages may load only their own files, and the images that Swagger UI's style sheet embeds as data URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

const pages = new URL('../../../pages/', import.meta.url)
const examples = new URL('../../../examples/', import.meta.url)
// This package only carries Swagger UI's files; that of Swagger UI itself reports each installation to a third party.
const swaggerUi = new URL('.', import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css'))

/** The types of files by the ending of their path. That of a page has none. */
const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.py': 'text/plain; charset=utf-8',
  '': 'text/html; charset=utf-8',
}
/** Quality 9 takes 0.6 s for all files; the best one makes them a tenth smaller and takes ten times as long. */
const LEVEL = 9

/** Serves a file from memory. It is compressed when somebody first asks for it. */
const serve = (app: FastifyInstance, path: string, body: Buffer, cacheControl = 'no-cache'): void => {
  const compressed: { [coding in Coding]?: Promise<Buffer> } = {}
  const headers = { 'content-type': TYPES[extname(path)], 'cache-control': cacheControl, vary: 'accept-encoding' }
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    reply.headers(headers)
    const coding = acceptedCoding(request)
    if (coding === undefined) return body
    compressed[coding] ??= compress(body, coding, LEVEL).catch((error) => {
      delete compressed[coding] // the next request tries again
      throw error
    })
    const bytes = await compressed[coding]
    reply.header('content-encoding', coding)
    return bytes
  })
}

const problemList = Object.entries(problems)
  .map(([code, { status, when }]) => {
    const text = when.replace(/`([^`]+)`/g, '<code>$1</code>')
    return `          <dt id="${code}"><code>${code}</code> ${status}</dt>\n          <dd>${text}</dd>`
  })
  .join('\n')

export const docsPagePlugin = async (app: FastifyInstance): Promise<void> => {
  const { contactUrl } = app.config
  app.addHook('onRequest', (_request, reply, next) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'x-content-type-options': 'nosniff' })
    next()
  })
  const who = 'whoever runs this service'
  // A URL's `href` contains no quotes.
  const contact = contactUrl ? `<a href="${new URL(contactUrl).href.replaceAll('&', '&amp;')}">${who}</a>` : who
  /** What the pages name between two %. */
  const replacements: Record<string, string> = { problems: problemList, contact }
  const ofSwaggerUi = ['swagger-ui-bundle.js', 'swagger-ui.css'].map((name) => new URL(name, swaggerUi))
  for (const url of [...ofSwaggerUi, ...['docs.js', 'docs.css', 'icon.svg'].map((name) => new URL(name, pages))]) {
    const body = readFileSync(url)
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 12)
    const { name, base, ext } = parse(url.pathname)
    const path = `docs/files/${name}.${hash}${ext}`
    replacements[base] = path
    serve(app, `/${path}`, body, 'public, max-age=31536000, immutable')
  }
  for (const [path, name] of Object.entries({ '/docs': 'docs.html', '/docs/errors': 'errors.html' })) {
    const page = readFileSync(new URL(name, pages), 'utf8')
    const html = page.replace(/%([\w.-]+)%/g, (_, key) => replacements[key] as string)
    serve(app, path, Buffer.from(html))
  }
  // The second imports the first, so their names stay as they are.
  for (const name of ['sync.py', 'check.py']) serve(app, `/docs/${name}`, readFileSync(new URL(name, examples)))
  // The pages name their files relative to one address, so that they work behind a proxy with a prefix.
  app.get('/docs/', { schema: { hide: true } }, (_request, reply) => reply.redirect('../docs', 301))
  // People who open the address of the service want the documentation; programs get the same as from any unknown path.
  app.get('/', { schema: { hide: true } }, (request, reply) => {
    reply.header('vary', 'accept')
    if (request.accepts().type(['json', 'html']) !== 'html') throw noSuchPath()
    return reply.redirect('docs')
  })
}
