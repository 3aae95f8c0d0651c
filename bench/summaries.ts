// What counts of entries cost, against the driver's own aggregations, and beside a neighbour. On the server, with
// `npm run bench -- --summaries`.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Document, MongoClient } from 'mongodb'
import { type Database, issueKey, open } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCallers, startLoad } from './processes.js'
import { median, quantiles } from './timing.js'
import { usually } from './trial.js'

const RUNS = usually(3, 1)
const CALLERS = 10
const BEFORE_MS = 500

interface Timed {
  readonly name: string
  /** The medians of the service when it counts, of the same when it has counted, and of the driver, in milliseconds. */
  readonly first: number
  readonly kept: number
  readonly driver: number | undefined
}

export interface Summaries {
  readonly timed: readonly Timed[]
  /** A page of entries with a common answer against one of the form. */
  readonly answeredPage: number
  /** An entry by id beside callers of summaries, and alone: p99 in milliseconds. */
  readonly beside: { readonly alone: number; readonly beside: number }
  readonly ratios: Record<string, number>
}

const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const counted = (_id: unknown): Document => ({ $group: { _id, count: { $sum: 1 } } })

/** The requests, each with what a program with the driver would run in its place. */
const casesOf = (form: string, key: string, question: string, answer: string): [string, string, Document[]?][] => {
  const ofForm = { $match: { form } }
  const answered = { $elemMatch: { question, answer } }
  return [
    ['by status', 'summaries/entries?by=status', [counted('$status')]],
    [
      'by month',
      'summaries/entries?by=createdAt:month',
      [counted({ $dateToString: { date: '$createdAt', format: '%Y-%m' } })],
    ],
    ['by state', 'summaries/entries?by=location.state', [counted('$location.state')]],
    ['by agent and form', 'summaries/entries?by=agent,form', [counted({ agent: '$agent', form: '$form' })]],
    [
      'by day in Lagos',
      'summaries/entries?by=createdAt:day&zone=Africa/Lagos',
      [counted({ $dateToString: { date: '$createdAt', format: '%Y-%m-%d', timezone: 'Africa/Lagos' } })],
    ],
    ['cells of 0.5 degrees', 'summaries/entries?by=location:0.5'],
    ['checks of a form', `checks/entries?form=${form}`],
    [
      'questions of a form',
      `forms/${form}/questions`,
      [
        ofForm,
        { $unwind: { path: '$answers', includeArrayIndex: 'position' } },
        { $unwind: '$answers.answer' },
        counted({ question: '$answers.question', answer: '$answers.answer' }),
      ],
    ],
    [
      'by an answer',
      `summaries/entries?form=${form}&by=${key}`,
      [ofForm, { $unwind: '$answers' }, { $match: { 'answers.question': question } }, counted('$answers.answer')],
    ],
    [
      'by status, of those with an answer',
      `summaries/entries?form=${form}&answered=${key}=${encodeURIComponent(answer)}&by=status`,
      [{ $match: { form, answers: answered } }, counted('$status')],
    ],
  ]
}

interface Question {
  readonly key: string
  readonly question: string
  readonly choices: readonly { readonly answer: string }[]
}

export const summaries = async (large: Database, ms: number, say: (text: string) => void): Promise<Summaries> => {
  const client = new MongoClient(large.uri)
  const entries = client.db().collection('entries')
  const always = await startService(large, { uri: large.uri, countsAlways: true })
  const keeping = await startService(large, { uri: large.uri })
  const { data: forms } = (await always.get('/v1/summaries/entries?by=form')) as { data: { form: string }[] }
  const form = forms[0]?.form as string
  const { data } = (await always.get(`/v1/forms/${form}/questions`)) as { data: Question[] }
  const { key, question, choices } = data[0] as Question
  const answer = choices[0]?.answer as string
  const timed: Timed[] = []
  for (const [name, path, stages] of casesOf(form, key, question, answer)) {
    const taken: Record<'first' | 'kept' | 'driver', number[]> = { first: [], kept: [], driver: [] }
    for (let run = 0; run < RUNS; run++) {
      if (stages !== undefined) {
        const pipeline = [{ $match: { organisation: large.organisation } }, ...stages]
        taken.driver.push(await timeOf(() => entries.aggregate(pipeline).toArray()))
      }
      taken.first.push(await timeOf(() => always.get(`/v1/${path}`)))
      await keeping.get(`/v1/${path}`)
      taken.kept.push(await timeOf(() => keeping.get(`/v1/${path}`)))
    }
    const { first, kept, driver } = taken
    timed.push({
      ...{ name, first: median(first), kept: median(kept) },
      driver: driver.length > 0 ? median(driver) : undefined,
    })
    say(`${name}: ${JSON.stringify(timed.at(-1))}`)
  }
  const answeredPage = await measureAnswered(keeping, form, `${key}=${encodeURIComponent(answer)}`)
  await client.close()
  const beside = await measureBeside(large, ms)
  say(`an entry by id: ${JSON.stringify(beside)}`)
  const slowest = timed.flatMap(({ first, driver }) => (driver === undefined ? [] : [driver / first]))
  return {
    ...{ timed, answeredPage, beside },
    ratios: {
      'summaries.vsDriver': Math.min(...slowest),
      'summaries.answeredPage': answeredPage,
      'summaries.besideP99': beside.beside / beside.alone,
    },
  }
}

/** How much longer a page of entries with a common answer takes than one of the form. */
const measureAnswered = async (service: Server, form: string, answered: string): Promise<number> => {
  const times = { form: [] as number[], answered: [] as number[] }
  for (let run = 0; run < 4 * RUNS; run++) {
    times.form.push(await timeOf(() => service.get(`/v1/entries?total=false&form=${form}`)))
    times.answered.push(await timeOf(() => service.get(`/v1/entries?total=false&form=${form}&answered=${answered}`)))
  }
  return median(times.answered) / median(times.form)
}

/** An entry by id, alone and while callers with another key ask for counts that are not kept. */
const measureBeside = async (large: Database, ms: number) => {
  const load = startLoad()
  const callers = startCallers()
  const store = open(large.uri)
  const other = await issueKey(store, large.organisation)
  await store.close()
  const service = await startService(large, { uri: large.uri, countsAlways: true })
  const { data } = (await service.get('/v1/entries?page=100&perPage=1')) as { data: { id: string }[] }
  const path = `/v1/entries/${data[0]?.id}`
  await service.times(load, path, ms)
  const alone = quantiles(await service.times(load, path, 4 * ms)).p99
  await callers.begin({
    ...{ port: service.port, keys: [other], callers: CALLERS, pipelined: 1 },
    paths: ['/v1/summaries/entries?by=agent,createdAt:day', '/v1/summaries/entries?by=location:0.01'],
  })
  await sleep(BEFORE_MS)
  const beside = quantiles(await service.times(load, path, 4 * ms)).p99
  await callers.end()
  return { alone, beside }
}
