// Assistants get right answers: the ten questions of docs/assistants.md are counted anew from the export. And the official
// conformance suite of the Model Context Protocol finds no failure. It needs Node 24, which npx brings.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { assistant, errorOf } from '../test/support/mcp.js'
import { blocksOf } from './support/pages.js'
import { DEMO_KEY, Reader } from './support/reader.js'

interface Row {
  id: string
  status: string
  form: string
  project?: string
  dispatch?: string
  agent?: string
  duration?: number
  createdAt: string
  location?: { state?: string }
  answers: { question: string; answer?: string[] }[]
}
interface Named {
  id: string
  name?: string
  firstName?: string
  lastName?: string
}
/** What a tool found. Rows are of a summary, unless they are a table. */
interface Result {
  total: number
  rows: Record<string, unknown>[]
  columns: string[]
  questions: { question: string; answered: number; choices: { answer: string; count: number }[] }[]
}

const SOURCE = 'What is your main source of drinking water?'
const meanOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length
const medianOf = (numbers: readonly number[]): number => {
  const inOrder = numbers.toSorted((a, b) => a - b)
  const place = (numbers.length - 1) / 2
  return meanOf([inOrder[Math.floor(place)], inOrder[Math.ceil(place)]] as number[])
}
/** What has the greatest number. */
const greatest = (rows: readonly Row[], keyOf: (row: Row) => unknown, numberOf: (rows: Row[]) => number) =>
  [...new Set(rows.map(keyOf))]
    .map((key) => [key, numberOf(rows.filter((row) => keyOf(row) === key))] as const)
    .toSorted(([, a], [, b]) => b - a)[0]
const durationsOf = (rows: readonly Row[]): number[] => rows.flatMap(({ duration }) => duration ?? [])
const withNone = ({ rows }: Result): unknown[] =>
  rows.flatMap(({ count, agentName, dispatchName }) => (count === 0 ? [agentName ?? dispatchName] : []))
const measured = (row: Record<string, unknown> | undefined) => row?.duration as { mean: number; median: number }
const rounded = (number: number): number => Math.round(number * 1e6) / 1e6

/** For each question of the page, what the result of its call says, and what a count of the rows of the export says. */
const answersTo = (
  rows: readonly Row[],
  { forms, projects, dispatches, agents }: Record<string, Named[]>,
): Record<string, readonly [said: (result: Result) => unknown, counted: unknown]> => {
  const idOf = (list: Named[] = [], name: string) => list.find((each) => nameOf(each) === name)?.id
  const nameOf = ({ name, firstName, lastName }: Named) => name ?? `${firstName} ${lastName}`
  const namesWithout = (list: Named[] = [], field: 'agent' | 'dispatch') =>
    list.filter(({ id }) => rows.every((row) => row[field] !== id)).map(nameOf)
  const count = (is: (row: Row) => boolean) => rows.filter(is).length
  // Lagos is an hour ahead of UTC. Sunday is the last day.
  const weekday = ({ createdAt }: Row) => new Date(Date.parse(createdAt) + 3_600_000).getUTCDay() || 7
  const survey = rows.filter(({ form }) => form === idOf(forms, 'Household water survey'))
  const sources = survey.flatMap(({ answers }) => answers.filter(({ question }) => question === SOURCE))
  const medianIs = (said: number) => {
    const median = medianOf(durationsOf(rows))
    return Math.abs(said - median) <= median / 100 || `${said} for ${median}`
  }
  const state = greatest(
    rows,
    ({ location }) => location?.state,
    (of) => meanOf(durationsOf(of)),
  )
  const project = idOf(projects, 'Living standards panel 2024')
  const agent = idOf(agents, 'Ireti Oyebola')
  const dispatch = idOf(dispatches, 'Small business survey 2')
  const total = ({ total }: Result) => total
  return {
    'How many entries has the project Living standards panel 2024?': [total, count((row) => row.project === project)],
    'How many entries are of the agent Ireti Oyebola?': [total, count((row) => row.agent === agent)],
    'How many of 200 expected entries has the dispatch Small business survey 2?': [
      ({ rows: [row] }) => [row?.totalExpectedEntries, row?.count],
      [200, count((row) => row.dispatch === dispatch)],
    ],
    'In which state do entries take longest on average?': [
      ({ rows: [row] }) => [row?.['location.state'], rounded(measured(row).mean)],
      [state?.[0], rounded(Number(state?.[1]))],
    ],
    'What is the median duration of all entries?': [({ rows: [row] }) => medianIs(measured(row).median), true],
    'Which agents have no entries?': [withNone, namesWithout(agents, 'agent')],
    'Which dispatches have no entries?': [withNone, namesWithout(dispatches, 'dispatch')],
    'Which is the busiest day of the week, by the clocks of Lagos?': [
      ({ rows: [row] }) => [row?.['createdAt:weekday'], row?.count],
      greatest(rows, weekday, ({ length }) => length),
    ],
    'When was the newest rejected entry made?': [
      ({ rows: [row], columns }) => row?.[columns.indexOf('createdAt')],
      rows
        .filter(({ status }) => status === 'rejected')
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .at(-1),
    ],
    'Which share of households drinks from a protected well?': [
      ({ questions }) => {
        const source = questions.find(({ question }) => question === SOURCE)
        return [source?.choices.find(({ answer }) => answer === 'Protected well')?.count, source?.answered]
      },
      [sources.filter(({ answer }) => answer?.includes('Protected well')).length, sources.length],
    ],
  }
}

t.test('each of the ten questions is answered by one call, as a count of the export answers it', async (t) => {
  const reader = new Reader(t)
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${DEMO_KEY}` }
    const response = await fetch(`${await reader.url()}/v1/${path}`, { headers })
    t.equal(response.status, 200, path)
    return response.text()
  }
  const lines = (await get('exports/entries.ndjson?answers=list')).trim().split('\n')
  const lists: Record<string, Named[]> = {}
  for (const list of ['forms', 'projects', 'dispatches', 'agents'])
    lists[list] = JSON.parse(await get(`${list}?perPage=1000`)).data
  const answers = answersTo(
    lines.map((line) => JSON.parse(line)),
    lists,
  )

  const [, questions = ''] = readFileSync('docs/assistants.md', 'utf8').split('## Ten questions\n')
  const titles = [...questions.matchAll(/^### (.*)$/gm)].map(([, title]) => String(title))
  t.same(titles, Object.keys(answers))
  t.equal(titles.length, 10)
  const calls = blocksOf('docs/assistants.md').filter(({ language }) => language === 'mcp')
  t.equal(calls.length, 10)
  for (const [n, title] of titles.entries()) {
    const [said, counted] = answers[title] as (typeof answers)[string]
    t.strictSame(said(JSON.parse((await reader.call(String(calls[n]?.text))).output())), counted, title)
  }

  // What an assistant may try first is right too, or an error that has what to try next.
  const { call } = await assistant(t, await reader.url(), DEMO_KEY)
  for (const [name, given, next] of [
    ['count_entries', { project: 'living standards panel' }, 'Living standards panel 2024'],
    ['count_entries', { agent: 'Oyebola' }, 'Ireti Oyebola'],
    ['count_entries', { dispatch: 'Small business survey' }, 'Small business survey 2'],
    ['count_entries', { by: ['state'], measure: 'duration' }, 'location.state'],
    ['count_entries', { by: ['weekday'] }, 'createdAt:weekday'],
    ['count_entries', { measure: 'duration', median: true }, 'measure'],
    ['find_entries', { status: 'reject' }, 'rejected'],
    ['find_entries', { status: 'rejected', perPage: 1 }, 'limit'],
    ['describe_form', { form: 'household water' }, 'Household water survey'],
  ] as const)
    t.ok(JSON.stringify(errorOf(await call(name, given)).errors).includes(next), `${name} ${JSON.stringify(given)}`)
})

/** The scenarios of the suite that a server with tools of its own can pass. */
const APPLY = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']
/** The others, and why they do not apply. */
const others: Record<string, readonly string[]> = {
  'they call tools of the reference server, which this one does not have': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'json-schema-2020-12',
  ],
  'a call here neither logs, nor reports progress, nor asks back': [
    'logging-set-level',
    'tools-call-with-logging',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ],
  'responses here are JSON, not streams': ['server-sse-polling', 'server-sse-multiple-streams'],
  'there are tools alone: no resources, prompts or completions': [
    'completion-complete',
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ],
}

const run = promisify(execFile)
const suite = async (...args: string[]): Promise<string> => {
  const packages = ['-p', 'node@24', '-p', '@modelcontextprotocol/conformance@0.1.16']
  const { stdout } = await run('npx', ['--yes', ...packages, 'conformance', ...args])
  return stdout
}

/** A server that adds the key to what it is sent, because the suite has none. */
const withKey = async (t: Test, target: string): Promise<string> => {
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${DEMO_KEY}` }
    const forwarded = send(target + incoming.url, { method: incoming.method, headers }, (response) => {
      outgoing.writeHead(response.statusCode as number, response.headers)
      response.pipe(outgoing)
    })
    incoming.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

t.test('the conformance suite of the protocol finds no failure', { timeout: 300_000 }, async (t) => {
  const [, listed = ''] = /^Server scenarios.*?:\n((?: {2}- .*\n)+)/m.exec(await suite('list')) ?? []
  const known = [...listed.matchAll(/- (\S+)/g)].map(([, name]) => String(name))
  t.same([...APPLY, ...Object.values(others).flat()].toSorted(), known.toSorted(), 'every scenario is listed here')
  const url = await withKey(t, await new Reader(t).url())
  for (const scenario of APPLY) {
    const printed = await suite('server', '--url', `${url}/mcp`, '--scenario', scenario)
    const [, passed = '', failed = ''] = /Passed: (\d+)\/\d+, (\d+) failed/.exec(printed) ?? []
    t.ok(Number(passed) > 0 && failed === '0', `${scenario}: ${passed} passed, ${failed} failed`, { printed })
  }
})
