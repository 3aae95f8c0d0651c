// The page at /explore, which shows an organisation's entries. It gets data only by the public API, with the key that is typed in.
import { readdirSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { folderOf, leadToPage, PAGES, protectPages, serveFiles, servePage } from './files.js'

/** The page may load only its own files and ask only this service. */
const SOURCES = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"]

/** A file of a package, by a path that the package exports, and the file beside that. */
const library = (path: string, file = ''): URL => new URL(file, import.meta.resolve(path))
const own = new URL('explore/', PAGES)
/** Read once, by the first application that has the page. */
let files: ReturnType<typeof folderOf> | undefined

export const explorePage = async (app: FastifyInstance): Promise<void> => {
  protectPages(app, SOURCES)
  files ??= folderOf('explore', [
    library('d3', 'd3.min.js'),
    library('topojson-client/dist/topojson-client.min.js'),
    library('world-atlas/countries-110m.json'),
    ...['colours.css', 'icon.svg'].map((name) => new URL(name, PAGES)),
    ...readdirSync(own).map((name) => new URL(name, own)),
  ])
  const folder = serveFiles(app, files)
  servePage(app, '/explore', 'explore.html', { folder })
  leadToPage(app, '/explore')
}
