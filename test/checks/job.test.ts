// The job of the checks, without a thread: what it holds, what it refuses, and what of its rows is kept.
import t from 'tap'
import { agentChecks } from '../../schemas/checks.js'
import { type ChecksOptions, open } from '../../src/checks/job.js'
import { changesIn } from '../../src/core/read/local-time.js'
import { documentOf, plain } from '../support/stored.js'
import { a } from '../support/tenants.js'

const opened = async (size: number, options: Partial<ChecksOptions> = {}) =>
  open({
    ...{ checks: agentChecks, minEntries: 5, size, most: 1024 * 1024, shown: undefined },
    ...{ changes: await changesIn('UTC'), ...options },
  })
const entry = (_id: unknown, changes = {}) => documentOf(plain({ ...a.entry(1), _id, ...changes })).bytes
/** It was made off the earth, so it is flagged, however few there are. */
const flagged = { location: { coordinates: { longitude: 500, lattitude: 500 } } }
const resultOf = (bytes: Uint8Array | undefined) => {
  const [head = '', ...lines] = String(Buffer.from(bytes ?? [])).split('\n')
  const { length, ...found } = JSON.parse(head)
  const rows = lines.filter(Boolean).map((line) => JSON.parse(line))
  return { ...found, shown: rows.slice(0, length), ofAgents: rows.slice(length) }
}

t.test('it holds what its answers take, and refuses more', async (t) => {
  const answers = Array.from({ length: 50 }, (_, i) => ({ type: 'number', question: `${i}`.repeat(100), answer: '1' }))
  const job = await opened(2)
  const empty = job.held
  job.add([entry('a', { answers })])
  t.ok(job.held > empty + 50 * 100)
  const small = await opened(2, { most: 1000 })
  t.throws(() => small.add([entry('a', { answers })]), {
    code: 'invalid_parameter',
    message: /answers take more than 1000 bytes/,
  })
})

t.test('an entry whose id is no text is left out, and one without a date or an agent is not', async (t) => {
  const job = await opened(3)
  job.add([entry(5, flagged), entry('a', { ...flagged, createdAt: null, agent: null }), entry('b', flagged)])
  const { entries, shown, ofAgents } = resultOf(job.end().bytes)
  t.equal(entries, 2)
  t.match(shown, [
    { id: 'b', createdAt: /^2/ },
    { id: 'a', createdAt: null, agent: null },
  ])
  t.match(
    ofAgents.toSorted((one: { days: number }, other: { days: number }) => one.days - other.days),
    [
      { agent: null, days: 0, entriesPerDay: null },
      { days: 1, entriesPerDay: 1 },
    ],
  )
})

t.test('it tells how flags agree with the statuses that a team gave', async (t) => {
  const job = await opened(6)
  const given = ['accepted', 'rejected', 'accepted', 'rejected', 'accepted', undefined]
  job.add(given.map((status, n) => entry(`e${n}`, { status, ...(n % 4 === 1 && flagged) })))
  const { statuses, hash } = resultOf(job.end().bytes)
  t.same(statuses, [
    { status: 'accepted', entries: 3, flagged: 0 },
    { status: 'rejected', entries: 2, flagged: 1 },
    { status: null, entries: 1, flagged: 1 },
  ])
  const other = await opened(30)
  other.add(Array.from({ length: 30 }, (_, n) => entry(`e${n}`, { status: `status ${n} ${'x'.repeat(300)}` })))
  const many = resultOf(other.end().bytes)
  t.same([many.statuses.length, many.statuses[0].status.length], [20, 200])
  t.not(many.hash, hash)
})

t.test('answers that stand for none are no answers, also where they make entries alike', async (t) => {
  const answers = (n: number, age: string) =>
    ['A', 'B', 'C', 'D', 'E'].map((question) => ({ type: 'number', question, answer: question === 'E' ? age : `${n}` }))
  const given = ['-99', '30', 'NA', '31'].map((age, n) => entry(`e${n}`, { answers: answers(Math.floor(n / 2), age) }))
  const found = async (missing: string[]) => {
    const job = await opened(5, { missing, checks: ['incomplete', 'copy', 'number'], minEntries: 5 })
    job.add([...given, entry('e4', { answers: answers(0, '-99') })])
    return resultOf(job.end().bytes).shown.map(({ id, flags }: { id: string; flags: object[] }) => [id, flags.length])
  }
  t.same(await found([]), [['e4', 1]], 'two with the same code are copies')
  t.same(await found(['-99', 'NA']), [], 'four answers are too few')
})

t.test('a row that is too long to be kept hides none behind it, and of one agent alone its own are kept', async (t) => {
  const long = 'l'.repeat(5_000_000)
  const given = [entry('b', flagged), entry(long, flagged), entry('c', { ...flagged, agent: 'other' })]
  const job = await opened(3)
  job.add(given)
  const all = resultOf(job.end().bytes)
  t.equal(all.flagged, 3)
  t.strictSame(all.shown.map(({ id }: { id: string }) => id).sort(), ['b', 'c'])
  const own = await opened(3, { shown: 'other' })
  own.add(given)
  t.match(resultOf(own.end().bytes), { flagged: 1, agents: 1, shown: [{ id: 'c' }], ofAgents: [{ agent: 'other' }] })
})
