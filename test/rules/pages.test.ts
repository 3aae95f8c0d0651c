// The pages against the code: their links and paths exist, and their tables are the real ones.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { commonFilters } from '../../schemas/common.js'
import { scenarioNames, scenarios } from '../../seed/options.js'
import { scenarioData } from '../../seed/scenarios.js'
import { Settings } from '../../src/core/config/config.js'
import { problems } from '../../src/core/problems/problems.js'
import { testApp } from '../support/app.js'
import { sectionsOf, withoutCode } from '../support/markdown.js'
import { eachResource, filtersOf } from '../support/resources.js'

const read = (file: string): string => readFileSync(file, 'utf8')

const pages = ['.', 'docs', 'docs/decisions', 'bench'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

t.test('every link of a page leads to a file of the project and to a heading that it has', async (t) => {
  t.ok(pages.includes('README.md') && pages.includes('docs/architecture.md'))
  const wrong: string[] = []
  for (const page of pages) {
    const text = withoutCode(read(page))
    const defined = [...text.matchAll(/^\[([^\]]+)\]: \S+$/gm)].map(([, name]) => name)
    for (const [, name] of text.matchAll(/\[([\w/.-]+\.ts)\](?![(:])/g))
      if (!defined.includes(name)) wrong.push(`${page}: [${name}]`)
    for (const [, inline, target = inline as string] of text.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)) {
      if (/^https?:/.test(target)) continue
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? page : normalize(join(dirname(page), path))
      if (!existsSync(file) || (anchor !== undefined && !sectionsOf(read(file)).has(anchor)))
        wrong.push(`${page}: ${target}`)
    }
  }
  t.same(wrong, [])
})

const FOLDERS = ['src', 'schemas', 'seed', 'test', 'acceptance', 'docs', 'bench']
const EXAMPLES: Record<string, string> = { '<resource>': 'entries', '<command>': 'load', '<format>': 'csv' }

t.test('every path of the project that a page or a comment names exists', async (t) => {
  const sources = ['src', 'schemas', 'seed', 'test', 'acceptance'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  )
  const commentsOf = (file: string) => [...read(file).matchAll(/^ *(?:\/\/|\/?\*).*$/gm)].join('\n')
  const texts = [
    ...pages.map((page) => [page, [...read(page).matchAll(/`[^`\s]+`/g)].join('\n')] as const),
    ...sources.map((file) => [file, commentsOf(file)] as const),
  ]
  const path = new RegExp(`(?<![\\w/.])(?:${FOLDERS.join('|')})/[\\w./<>-]*[\\w/>]`, 'g')
  const named = texts.flatMap(([file, text]) => [...text.matchAll(path)].map(([path]) => ({ file, path })))
  t.ok(named.some(({ path }) => path === 'docs/data.md'))
  const missing = named.filter(({ path }) => !existsSync(path.replace(/<\w+>/, (name) => EXAMPLES[name] ?? name)))
  t.same(missing, [])
})

/** The lines of the first table below a heading, as they stand in the page. */
const tableOf = (page: string, heading: string): string[] => {
  const section = read(page).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return (/(?:^\|.*\n)+/m.exec(section)?.[0] ?? '').trimEnd().split('\n').slice(2)
}

t.test('docs/errors.md lists every error with its status', async (t) => {
  const rows = Object.entries(problems).map(([code, { status, when }]) => `| \`${code}\` | ${status} | ${when} |`)
  t.same(tableOf('docs/errors.md', 'Codes'), rows)
})

t.test('docs/incidents.md names messages, codes and settings that there are', async (t) => {
  const code = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(join('src', name)))
    .join()
  const page = read('docs/incidents.md')
  const messages = [...page.matchAll(/`([^`]+)` in the log/g)].map(([, message]) => `${message}`)
  t.equal(messages.length, 8)
  t.same(
    messages.filter((message) => !code.includes(message)),
    [],
  )
  const codes = [...page.matchAll(/\b([45]\d\d) `(\w+)`/g)]
  t.equal(codes.length, 11)
  for (const [, status, code = ''] of codes)
    t.equal(problems[code as keyof typeof problems]?.status, Number(status), code)
  for (const [, name = ''] of page.matchAll(/`([A-Z]+_[A-Z_]+)\b/g)) t.ok(name in Settings.properties, name)
})

t.test('docs/operating.md lists every setting with its default and its values', async (t) => {
  const rows = Object.entries<TSchema>(Settings.properties).map(([name, schema]) => {
    const { description, enum: allowed, minimum, maximum } = schema
    const shown = schema.default === undefined ? ' ' : ` \`${schema.default}\` `
    const values = allowed && ` One of ${allowed.map((value: string) => `\`${value}\``).join(', ')}.`
    const range = minimum === undefined ? '' : ` From ${minimum} to ${maximum}.`
    return `| \`${name}\` |${shown}| ${description}${values ?? range} |`
  })
  t.same(tableOf('docs/operating.md', 'Settings'), rows)
})

t.test('a page describes every script of the project', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const described = read('README.md') + read('docs/operating.md') + read('docs/contributing.md')
  for (const name of Object.keys(scripts)) {
    t.match(described, new RegExp(`\\bnpm (run )?${name}\\b`), name)
  }
})

t.test('docs/contract.md lists the path of every operation', async (t) => {
  const { app } = await testApp(t)
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: object }
  let whole = ''
  const listed = tableOf('docs/contract.md', 'Operations').flatMap((row) =>
    [...`${row.split('|')[1]}`.matchAll(/`([^`]+)`/g)].flatMap(([, path = '']) => {
      if (!/^\/(v1|health)\//.test(path)) return whole + path
      whole = path
      return path.includes('<resource>') ? eachResource.map(([name]) => path.replace('<resource>', name)) : path
    }),
  )
  t.same(
    listed.sort(),
    Object.keys(paths)
      .map((path) => path.replace('{id}', ':id'))
      .sort(),
  )
})

t.test('docs/contract.md lists the filters and sorts of every resource', async (t) => {
  const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
  const common = Object.keys(commonFilters)
  const rows = eachResource.map(([name, { query }]) => {
    const filters = filtersOf(query).flatMap(([filter]) => (common.includes(filter) ? [] : filter))
    return `| Filters and sorts of ${name} | ${listed(filters)}; \`sortBy\` is ${listed(query.properties.sortBy?.enum)}. |`
  })
  const lines = read('docs/contract.md').split('\n')
  t.same(
    lines.filter((line) => line.startsWith('| Filters and sorts of ')),
    rows,
  )
})

t.test('docs/demo-data.md lists every scenario with its size', async (t) => {
  const rows = scenarioNames.map((scenario) => {
    const counts = { dispatches: 0, entries: 0 }
    for (const { collection, documents } of scenarioData({ scenario })) {
      if (collection === 'dispatches' || collection === 'entries') counts[collection] += documents.length
    }
    const dispatches = counts.dispatches === 1 ? '1 dispatch' : `${counts.dispatches} dispatches`
    return `| \`${scenario}\` | ${scenarios[scenario]} | ${dispatches}, ${counts.entries} entries |`
  })
  t.same(tableOf('docs/demo-data.md', 'Without a database'), rows)
})
