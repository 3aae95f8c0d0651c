// Keeps a copy of an organisation's entries in a file of lines. It needs Node 22.18 or newer, which runs TypeScript as it
// is: older ones fail with ERR_UNKNOWN_FILE_EXTENSION.
//
//     API_URL=http://127.0.0.1:3000 API_KEY=... node sync.ts copy.ndjson
//
// Or a copy of some projects, some forms, or both: node sync.ts copy.ndjson project=ID,ID form=ID
//
// Each run continues where the last one ended, however it ended: the cursor is written after the changes before it, and
// changes without a cursor after them are dropped and fetched again.
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

type Item = { id: string; project?: string; form?: string; deleted?: true; unreadable?: true; message?: string }
type Me = {
  data: { organisation: { id: string }; key: { only?: Record<string, string[]> }; limits: { perPage: number } }
}
type Page = { data: Item[]; _metadata: { nextCursor?: string; hasMore: boolean } }
/** The cursor after all lines before it, and of which organisation and which part of it they are. */
type State = { cursor: string; copy: number; organisation?: string }
/** A line of the file: a state, or an item, in the copy with this number. */
type Line = { item: Item; copy: number } | State

const { API_URL, API_KEY } = process.env
const [file, ...argv] = process.argv.slice(2) as [string, ...string[]]
const missing = ['API_URL', 'API_KEY'].find((name) => !process.env[name])
const stop = (sentence: string): never => {
  console.error(sentence)
  process.exit(1)
}
if (file === undefined || file.startsWith('-')) {
  stop('API_URL=http://127.0.0.1:3000 API_KEY=... node sync.ts copy.ndjson [project=ID,ID] [form=ID]')
}
if (missing) stop(`The environment variable ${missing} is missing`)
const part: Record<string, string> = Object.fromEntries(argv.map((argument) => argument.split(/=(.*)/)))
const entries = new Map<string, { item: Item; copy: number }>()
let state: State = { cursor: '*', copy: 1 }

/** A response, or undefined if its cursor is no longer valid. Tries again while the service is away or busy. */
const get = async <T>(path: string): Promise<T | undefined> => {
  for (let delay = 1000; ; delay = Math.min(2 * delay, 60_000)) {
    let wait = delay
    try {
      const response = await fetch(`${API_URL}/v1/${path}`, { headers: { authorization: `Bearer ${API_KEY}` } })
      if (response.ok) return (await response.json()) as T
      const problem = await response.text()
      if (/"(cursor_expired|invalid_cursor)"/.test(problem)) return undefined
      if (![429, 502, 503, 504].includes(response.status)) throw new RangeError(problem)
      wait = Math.max(wait, 1000 * (Number(response.headers.get('retry-after')) || 0)) // a proxy may send a date
    } catch (error) {
      if (error instanceof RangeError) throw error // anything else: refused, reset or cut short
    }
    await setTimeout(wait * (0.5 + Math.random() / 2))
  }
}

const apply = (line: Line): void => {
  if ('cursor' in line) state = line
  else if (line.item.deleted) entries.delete(line.item.id)
  else if (!line.item.unreadable) entries.set(line.item.id, line)
  else {
    // The service cannot show this record: what the copy has of it stays.
    console.error(line.item.id, line.item.message)
    Object.assign(entries.get(line.item.id) ?? {}, { copy: line.copy })
  }
}

const linesOf = (lines: readonly Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

// Read the file up to its last cursor, and write it anew without the lines that later ones replaced.
const stored = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
const complete = stored.slice(0, stored.findLastIndex((line) => line.startsWith('{"cursor":')) + 1)
for (const line of complete) apply(JSON.parse(line))
writeFileSync(`${file}.new`, linesOf([...entries.values(), state]))
renameSync(`${file}.new`, file)

const me = await get<Me>('me')
const perPage = String(me?.data.limits.perPage)
// What the run copies: an organisation, or the part of it that the key and the arguments allow. A copy stays that of one.
const conditions = [
  ...Object.entries(me?.data.key.only ?? {}),
  ...Object.entries(part).map(([name, ids]): [string, string[]] => [name, ids.split(',')]),
].map(([name, ids]) => `${name}=${ids.toSorted().join()}`)
const organisation = [me?.data.organisation.id, ...[...new Set(conditions)].sort()].join(' ')
// Entries without an owner are from before this program copied parts.
const owner = state.organisation ?? (entries.size > 0 ? me?.data.organisation.id : organisation)
if (owner !== organisation) {
  stop(`The copy is of organisation ${owner}, and this run of ${organisation}: name another file`)
}
for (let hasMore = true; hasMore; ) {
  const page = await get<Page>(`sync/entries?${new URLSearchParams({ cursor: state.cursor, perPage, ...part })}`)
  // Without a page, deletions may be missing: copy everything again, and look for what does not come again.
  const copy = page === undefined ? state.copy + 1 : state.copy
  const cursor = page?._metadata.nextCursor ?? '*'
  const lines: Line[] = [...(page?.data.map((item) => ({ item, copy })) ?? []), { cursor, copy, organisation }]
  appendFileSync(file, linesOf(lines))
  for (const line of lines) apply(line)
  hasMore = page?._metadata.hasMore ?? true
}

// Drop what did not come again, unless the service has it: a record may have been changed meanwhile. The filters of the list
// take one id each, so what it shows is looked at here.
const isInPart = (item: Item): boolean =>
  Object.entries(part).every(([name, ids]) => ids.split(',').includes(String(item[name as 'project' | 'form'])))
const { copy } = state
const old = [...entries.values()].filter((entry) => entry.copy < copy)
const gone = new Set(old.map(({ item }) => item.id))
for (let cursor: string | undefined = gone.size > 0 ? '*' : undefined; cursor !== undefined; ) {
  const query = new URLSearchParams({
    cursor,
    perPage,
    fields: ['id', ...Object.keys(part)].join(),
    unreadable: 'skip',
  })
  const page: Page | undefined = await get(`entries?${query}`)
  for (const item of page?.data ?? []) if (isInPart(item)) gone.delete(item.id)
  cursor = page === undefined ? '*' : page._metadata.nextCursor
}
const again = old.map(({ item }) => ({
  item: gone.has(item.id) ? { id: item.id, deleted: true as const } : item,
  copy,
}))
if (again.length > 0) appendFileSync(file, linesOf([...again, state]))
for (const line of again) apply(line)
if (argv.length > 0 && entries.size === 0) console.error('No entry is in this part: an id may be wrong')
