// Jobs in the worker: what they are given and give back, how they end, and that none ends another. It has a process of its own.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { BsonDocument } from '../../../src/core/bson/reader.js'
import { ProblemError } from '../../../src/core/problems/problems.js'
import { jobsOf, startWorker, Work } from '../../../src/core/workers/pool.js'
import { leftToGate } from '../../support/thorough.js'

// Each worker imports it at its start.
jobsOf(new URL('../../../src/checks/job.js', import.meta.url))

const workers: Worker[] = []
process.on('worker', (worker) => workers.push(worker))

/** A job that says what it was given, and does what a document says. */
const program = (root: string) => `
  import { invalidParameter } from '${root}/core/problems/problems.js'
  export const open = ({ name, held = 0 }) => {
    if (name === 'unopened') throw new Error('cannot be opened')
    let all = ''
    return {
      held,
      add(documents) {
        for (const document of documents) {
          const text = String(document)
          if (text === 'refuse') throw invalidParameter('form', 'must be another one')
          if (text === 'fail') throw Object.assign(new TypeError('is broken'), { besides() {} })
          if (text === 'die') process.exit(3)
          while (text === 'loop');
          all += name + text
        }
        return { told: documents.length }
      },
      end: () => ({ bytes: Buffer.from(all) }),
    }
  }`

const root = String(new URL('../../../src', import.meta.url))
const moduleOf = (t: Test) => `file://${t.testdir({ 'job.mjs': program(root) })}/job.mjs`
const rowsOf = (...texts: string[]) => texts.map((text) => new BsonDocument('things', Buffer.from(text)))
const textOf = async (work: Work) => String(Buffer.from((await work.end()).bytes as Uint8Array))

t.test('a job is given documents and gives back bytes, and jobs at the same time do not mix', async (t) => {
  const module = moduleOf(t)
  const [one, other] = [new Work(module, { name: 'a' }), new Work(module, { name: 'b' })]
  const rows = rowsOf('1', '')
  const told = await Promise.all([one.add(rows), other.add(rowsOf('2')).then(() => other.add(rowsOf()))])
  t.strictSame(
    told.map(({ told }) => told),
    [2, 0],
  )
  t.equal(String(rows[0]?.bytes), '1', 'what was given is there still')
  t.strictSame(await Promise.all([textOf(one), textOf(other)]), ['a1a', 'b2'])
  await t.rejects(one.add(rows), { message: 'The job is closed' })
  t.equal(workers.length, 1)
})

t.test('an error arrives as it was thrown, and closes its job alone', async (t) => {
  const module = moduleOf(t)
  const other = new Work(module, { name: 'other' })
  const refused = new Work(module, { name: 'refused' })
  const error = await refused.add(rowsOf('refuse')).catch((error) => error)
  t.ok(error instanceof ProblemError)
  t.match(error, {
    status: 400,
    code: 'invalid_parameter',
    detail: 'form must be another one',
    extra: { errors: [{}] },
  })
  await t.rejects(refused.end(), { message: 'The job is closed' })
  await t.rejects(new Work(module, { name: 'failed' }).add(rowsOf('fail')), { name: 'TypeError', message: 'is broken' })
  await t.rejects(new Work(module, { name: 'unopened' }).end(), { message: 'cannot be opened' })
  await other.add(rowsOf('1'))
  t.equal(await textOf(other), 'other1')
})

t.test('a job can be closed at any time, and twice: what came before is done', async (t) => {
  const work = new Work(moduleOf(t), { name: 'closed' })
  const added = work.add(rowsOf('1'))
  work.close()
  work.close()
  t.strictSame((await added).told, 1)
  await t.rejects(work.end(), { message: 'The job is closed' })
})

t.test('while jobs hold too much, no other one begins', async (t) => {
  const module = moduleOf(t)
  const work = new Work(module, { name: 'large', held: 600 * 1024 * 1024 })
  await work.add(rowsOf('1'))
  t.throws(() => new Work(module, {}), { name: 'Overloaded' })
  work.close()
  new Work(module, {}).close()
})

const ended = { code: 'overloaded', status: 503, extra: { headers: { 'retry-after': '2' } } }

t.test(
  'when the worker dies, its jobs fail with a problem, and others go to a new worker',
  { skip: leftToGate },
  async (t) => {
    const module = moduleOf(t)
    const told: unknown[] = []
    startWorker((error) => told.push(error))
    t.equal(workers.length, 1, 'it runs already')
    const [idle, busy] = [new Work(module, { name: 'idle' }), new Work(module, { name: 'busy' })]
    await idle.add(rowsOf('1'))
    await t.rejects(busy.add(rowsOf('die')), ended)
    await t.rejects(idle.end(), ended)
    t.match(told, [{ message: 'The worker has ended' }])
    t.equal(await textOf(new Work(module, {})), '')
    t.equal(workers.length, 2)
    workers[1]?.emit('error', new Error('Out of memory'))
    t.equal(await textOf(new Work(module, {})), '')
    t.match(told.slice(1), [{ message: 'Out of memory' }])
    t.equal(workers.length, 3)
  },
)

t.test('a worker that is silent for long is ended', async (t) => {
  const module = moduleOf(t)
  const [idle, busy] = [new Work(module, { name: 'idle' }), new Work(module, { name: 'busy' }, 200)]
  await idle.add(rowsOf('1'))
  await t.rejects(busy.add(rowsOf('loop')), ended)
  await t.rejects(idle.end(), ended)
  t.equal(await textOf(new Work(module, {})), '')
})

t.test('a job keeps the process alive only while it is asked', async (t) => {
  const other = `
    import { startWorker, Work } from '${root}/core/workers/pool.js'
    startWorker(() => {})
    const work = new Work(new URL('job.mjs', import.meta.url).href, { name: 'alone' })
    process.stdout.write(JSON.stringify(await work.add([])))`
  const folder = t.testdir({ 'job.mjs': program(root), 'program.mjs': other })
  const { stdout } = await promisify(execFile)(process.execPath, [`${folder}/program.mjs`])
  t.match(JSON.parse(stdout), { told: 0, held: 0 })
})
