// The page at /explore, which shows an organisation's entries. It is a client of the public API: it gets no data but by the
// key that is typed into it. All its files are in one folder, whose name changes with the content of any of them, so that
// modules find each other by their plain names.
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { fileHashOf, leadToPage, pages, protectPages, serveKept, servePage } from './page-files.js'

/** The page may load only its own files and ask only this service. */
const SOURCES = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"]

/** A file of a package, by a path that the package exports, and the file beside that. */
const library = (path: string, file = ''): URL => new URL(file, import.meta.resolve(path))
const LIBRARIES = [
  library('d3', 'd3.min.js'),
  library('topojson-client/dist/topojson-client.min.js'),
  library('world-atlas/countries-110m.json'),
]

export const explorePagePlugin = async (app: FastifyInstance): Promise<void> => {
  protectPages(app, SOURCES)
  const own = new URL('explore/', pages)
  const urls = [
    ...LIBRARIES,
    ...['colours.css', 'icon.svg'].map((name) => new URL(name, pages)),
    ...readdirSync(own).map((name) => new URL(name, own)),
  ]
  const files = urls.map((url) => ({ name: basename(url.pathname), body: readFileSync(url) }))
  const folder = `explore/files/${fileHashOf(Buffer.concat(files.map(({ body }) => body)))}`
  for (const { name, body } of files) serveKept(app, `/${folder}/${name}`, body)
  servePage(app, '/explore', 'explore.html', { folder })
  leadToPage(app, '/explore')
}
