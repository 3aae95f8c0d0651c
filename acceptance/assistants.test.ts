// What assistants are told in docs/assistants.md is right: the ten questions are counted anew from the export. And the official
// conformance suite of the Model Context Protocol finds no failure. It needs Node 24, which npx brings.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { blocksOf } from './support/pages.js'
import { DEMO_KEY, Reader } from './support/reader.js'

interface Answer {
  question: string
  answer?: string[]
}
interface Row {
  id: string
  status: string
  form: string
  dispatch?: string
  createdAt: string
  location?: { state?: string }
  answers: Answer[]
}

const chose = (row: Row, question: string, choice: string): boolean =>
  row.answers.some((each) => each.question === question && each.answer?.includes(choice))
const most = (counts: Map<string, number>): number => Math.max(...counts.values())
const countBy = (rows: readonly Row[], of: (row: Row) => string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const row of rows) counts.set(of(row), (counts.get(of(row)) ?? 0) + 1)
  return counts
}
const SOURCE = 'What is your main source of drinking water?'
const WAY = 'How long does it take to fetch water and come back?'

/** The number that answers each question of the page, counted from the rows of the export. */
const recounts = (rows: readonly Row[], idOf: (list: string, name: string) => string): Record<string, number> => {
  const ofForm = (name: string) => rows.filter(({ form }) => form === idOf('forms', name))
  const dispatch = idOf('dispatches', 'Small business survey 2')
  // Lagos is an hour ahead of UTC.
  const monthIn = ({ createdAt }: Row) => new Date(Date.parse(createdAt) + 3_600_000).toISOString().slice(0, 7)
  const fromWell = ofForm('Household water survey').filter((row) => chose(row, SOURCE, 'Protected well'))
  return {
    'How many entries are there?': rows.length,
    'How many entries were rejected?': rows.filter(({ status }) => status === 'rejected').length,
    'How many entries from Kano were accepted?': rows.filter(
      ({ status, location }) => status === 'accepted' && location?.state === 'Kano',
    ).length,
    'How many entries were made in March 2025, by the clocks of Lagos?': rows.filter(
      (row) => monthIn(row) === '2025-03',
    ).length,
    'How many entries does the largest form have?': most(countBy(rows, ({ form }) => form)),
    'How many of 200 expected entries has the dispatch Small business survey 2?': rows.filter(
      (row) => row.dispatch === dispatch,
    ).length,
    'How many households drink from a protected well?': fromWell.length,
    'How many of these fetch their water for more than an hour?': fromWell.filter((row) =>
      chose(row, WAY, 'More than an hour'),
    ).length,
    'How many entries are still to be checked?': rows.filter(({ status }) => status === 'pending').length,
    'How many rows has the file of all power access surveys?': ofForm('Power access survey').length,
  }
}

t.test('each of the ten questions has one right number, which the page shows', async (t) => {
  const url = await new Reader(t).url()
  const get = async (path: string) => {
    const response = await fetch(`${url}/v1/${path}`, { headers: { authorization: `Bearer ${DEMO_KEY}` } })
    t.equal(response.status, 200, path)
    return response.text()
  }
  const rows: Row[] = (await get('exports/entries.ndjson?answers=list'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const named = new Map<string, string>()
  for (const list of ['forms', 'dispatches'])
    for (const { id, name } of JSON.parse(await get(`${list}?perPage=1000&fields=name`)).data)
      named.set(list + name, id)
  const counted = recounts(rows, (list, name) => String(named.get(list + name)))

  const page = readFileSync('docs/assistants.md', 'utf8')
  const [, questions = ''] = page.split('## Ten questions\n')
  const titles = [...questions.matchAll(/^### (.*)$/gm)].map(([, title]) => String(title))
  t.same(titles, Object.keys(counted))
  t.equal(titles.length, 10)
  const shown = blocksOf('docs/assistants.md').filter(({ language, follows }) => language === 'json' && follows)
  for (const [n, title] of titles.entries()) {
    t.match(shown[n]?.text, new RegExp(`"(count|total)": ${counted[title]}\\b`), `${title} ${counted[title]}`)
  }
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
