// The documentation for people: /docs, a guide with Swagger UI below it, the programs that the guide links, and /docs/errors,
// to which problems lead. The pages are in pages/. All files are compressed once. The names of style sheets, scripts and
// images change with their content, so that browsers keep them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import accepts from '@fastify/accepts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.js'
import { noSuchPath, problems } from '../http/problems.js'
import { acceptedCoding } from './compression.js'

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
/** The examples that the guide links. The second imports the first, so their names stay as they are. */
const PROGRAMS = ['sync.py', 'check.py']
// This package only carries Swagger UI's files; that of Swagger UI itself reports each installation to a third party.
const swaggerUi = new URL('.', import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css'))

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
  py: 'text/plain; charset=utf-8',
}
const YEAR_S = 31_536_000

/** Quality 9 takes 0.6 s for all files; the best one makes them a tenth smaller and takes ten times as long. */
const compress = {
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body: Buffer) => promisify(gzip)(body, { level: 9 }),
}

/** A file in memory. It is compressed when somebody first asks for it. */
class StaticFile {
  readonly #compressed: { [coding in keyof typeof compress]?: Promise<Buffer> } = {}

  constructor(
    readonly type: string,
    readonly body: Buffer,
  ) {}

  async send(request: FastifyRequest, reply: FastifyReply, cacheControl: string): Promise<FastifyReply> {
    reply.type(this.type).headers({ 'cache-control': cacheControl, vary: 'accept-encoding' })
    const coding = acceptedCoding(request)
    if (coding === undefined) return reply.send(this.body)
    this.#compressed[coding] ??= compress[coding](this.body).catch((error) => {
      delete this.#compressed[coding] // the next request tries again
      throw error
    })
    return reply.header('content-encoding', coding).send(await this.#compressed[coding])
  }
}

const load = () => {
  const assets = new Map<string, StaticFile>()
  const hashedNames = new Map<string, string>()
  for (const url of [
    new URL('swagger-ui-bundle.js', swaggerUi),
    new URL('swagger-ui.css', swaggerUi),
    ...['docs.js', 'docs.css', 'icon.svg'].map((name) => new URL(name, pages)),
  ]) {
    const body = readFileSync(url)
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 12)
    const [, name, ending] = /([\w-]+)\.(\w+)$/.exec(url.pathname) as unknown as [string, string, keyof typeof TYPES]
    assets.set(`${name}.${hash}.${ending}`, new StaticFile(TYPES[ending], body))
    hashedNames.set(`${name}.${ending}`, `docs/files/${name}.${hash}.${ending}`)
  }
  const page = (name: string) => {
    const html = readFileSync(new URL(name, pages), 'utf8').replace(/%([\w.-]+)%/g, (_, key) =>
      key === 'problems' ? problemList : (hashedNames.get(key) as string),
    )
    return new StaticFile(TYPES.html, Buffer.from(html))
  }
  const programs = PROGRAMS.map((name) => ({
    name,
    file: new StaticFile(TYPES.py, readFileSync(new URL(name, examples))),
  }))
  return { assets, programs, docs: page('docs.html'), errors: page('errors.html') }
}

const problemList = Object.entries(problems)
  .map(([code, { status, when }]) => {
    const text = when.replace(/`([^`]+)`/g, '<code>$1</code>')
    return `          <dt id="${code}"><code>${code}</code> ${status}</dt>\n          <dd>${text}</dd>`
  })
  .join('\n')

/** The files of this process; they are read with the first application. */
let files: ReturnType<typeof load> | undefined

/** Makes "whoever runs this service" a link to CONTACT_URL, if that is set. A URL's `href` contains no quotes. */
const withContact = (page: StaticFile, contactUrl: string | undefined): StaticFile => {
  if (contactUrl === undefined) return page
  const link = `<a href="${new URL(contactUrl).href.replaceAll('&', '&amp;')}">whoever runs this service</a>`
  return new StaticFile(page.type, Buffer.from(String(page.body).replace('whoever runs this service', () => link)))
}

export const docsPagePlugin = async (
  app: FastifyInstance,
  { contactUrl }: Pick<Config, 'contactUrl'>,
): Promise<void> => {
  files ??= load()
  const { assets, programs, errors } = files
  const docs = withContact(files.docs, contactUrl)
  await app.register(accepts)
  app.addHook('onRequest', (_request, reply, next) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'x-content-type-options': 'nosniff' })
    next()
  })
  const schema = { hide: true }
  app.get('/docs', { schema }, (request, reply) => docs.send(request, reply, 'no-cache'))
  // The pages name their files relative to one address, so that they work behind a proxy with a prefix.
  app.get('/docs/', { schema }, (_request, reply) => reply.redirect('../docs', 301))
  app.get('/docs/errors', { schema }, (request, reply) => errors.send(request, reply, 'no-cache'))
  for (const { name, file } of programs) {
    app.get(`/docs/${name}`, { schema }, (request, reply) => file.send(request, reply, 'no-cache'))
  }
  app.get('/docs/files/:name', { schema }, (request, reply) => {
    const file = assets.get((request.params as { name: string }).name)
    if (file === undefined) throw noSuchPath()
    return file.send(request, reply, `public, max-age=${YEAR_S}, immutable`)
  })
  // People who open the address of the service want the documentation; programs get the same as from any unknown path.
  app.get('/', { schema }, (request, reply) => {
    reply.header('vary', 'accept')
    if (request.accepts().type(['json', 'html']) !== 'html') throw noSuchPath()
    return reply.redirect('docs')
  })
}
