// The documentation for people: /docs with a guide, its programs and Swagger UI, and /docs/errors, to which problems lead.
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { noSuchPath, problems } from '../core/problems/problems.js'
import { fileOf, folderOf, leadToPage, PAGES, protectPages, serve, serveFiles, servePage } from './files.js'

/** The pages may load only their own files, and the images that Swagger UI's style sheet embeds as data URLs. */
const SOURCES = ["default-src 'self'", "img-src 'self' data:", "style-src 'self' 'unsafe-inline'", "object-src 'none'"]

const examples = new URL('../../../examples/', import.meta.url)
// This package only carries Swagger UI's files; that of Swagger UI itself reports each installation to a third party.
const swaggerUi = new URL('.', import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css'))
const files = folderOf('docs', [
  ...['swagger-ui-bundle.js', 'swagger-ui.css'].map((name) => new URL(name, swaggerUi)),
  ...['docs.js', 'colours.css', 'docs.css', 'icon.svg'].map((name) => new URL(name, PAGES)),
])

const problemList = Object.entries(problems)
  .map(([code, { status, when }]) => {
    const text = when.replace(/`([^`]+)`/g, '<code>$1</code>')
    return `          <dt id="${code}"><code>${code}</code> ${status}</dt>\n          <dd>${text}</dd>`
  })
  .join('\n')

export const docsPage = async (app: FastifyInstance): Promise<void> => {
  const { contactUrl } = app.config
  protectPages(app, SOURCES)
  const who = 'whoever runs this service'
  // A URL's `href` contains no quotes.
  const contact = contactUrl ? `<a href="${new URL(contactUrl).href.replaceAll('&', '&amp;')}">${who}</a>` : who
  const folder = serveFiles(app, files)
  const replacements = { problems: problemList, contact, folder }
  servePage(app, '/docs', 'docs.html', replacements)
  servePage(app, '/docs/errors', 'errors.html', replacements)
  // The second imports the first, so their names stay as they are.
  for (const name of ['sync.py', 'check.py', 'sync.ts'])
    serve(app, `/docs/${name}`, fileOf(readFileSync(new URL(name, examples))))
  leadToPage(app, '/docs')
  // People who open the address of the service want the documentation; programs get the same as from any unknown path.
  app.get('/', { schema: { hide: true } }, (request, reply) => {
    reply.header('vary', 'accept')
    if (request.accepts().type(['json', 'html']) !== 'html') throw noSuchPath()
    return reply.redirect('docs')
  })
}
