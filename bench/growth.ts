// How responses slow down as the data grows: the same requests to databases of different sizes, one request at a time.
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type Driver, type Server, startDriver, startLoad } from './processes.js'
import { requests } from './requests.js'
import { type Case, measureRounds, type Results, ROUNDS, ratio } from './rounds.js'

export const growthTitles = {
  page1: 'page 1 of 50',
  byId: 'entry by id',
  filtered: 'filtered by dispatch, 50',
  filteredTwice: 'filtered by dispatch and status, 50',
  deepPage: 'page of 50 at half of the list',
}
export type GrowthName = keyof typeof growthTitles
/** The requests with a total. Counting it takes longer as the data grows. */
export const countedNames = ['page1', 'filtered', 'filteredTwice', 'deepPage'] as const

export interface Plan {
  title: string
  entries: number
  path: string
  plan: unknown
}

export interface Growth {
  sizes: number[]
  /** The numbers of the pages that were read from the largest database. */
  pages: number[]
  results: Results
  ratios: Record<string, number>
  plans: Plan[]
}

export const sizeCase = (request: GrowthName, entries: number) => `${request} ${entries}`
/** The same for the service that counts the total for every request. */
export const countingCase = (request: GrowthName, entries: number) => `${request} ${entries} counting`
export const pageCase = (who: 'service' | 'driver', page: number) => `${who} page ${page}`
/** How many times longer the deepest page is measured than the others. */
const DEEP = 5
const pagePath = (page: number) => `/v1/entries?page=${page}&perPage=50`
const middlePage = (entries: number) => entries / 100

interface Opened {
  database: Database
  service: Server
  counting: Server
  driver: Driver
  paths: Record<GrowthName, string>
}

const open = async (database: Database): Promise<Opened> => {
  const { entries, uri, organisation } = database
  const service = await startService(database, { uri })
  const { data } = (await service.get(`/v1/entries?page=${entries / 2}&perPage=1&status=accepted`)) as {
    data: [Record<'id' | 'dispatch', string>]
  }
  const [sample] = data
  const { list50, byId, filtered, filteredTwice } = requests(entries, { entry: sample.id, dispatch: sample.dispatch })
  const paths = { page1: list50, byId, filtered, filteredTwice, deepPage: pagePath(middlePage(entries)) }
  const counting = await startService(database, { uri, countsAlways: true })
  return { database, service, counting, driver: startDriver(uri, organisation), paths }
}

/** Measures the databases, which are sorted from the smallest to the largest. */
export const growth = async (
  databases: readonly Database[],
  ms: number,
  say: (text: string) => void,
): Promise<Growth> => {
  const load = startLoad()
  const opened: Opened[] = []
  for (const database of databases) opened.push(await open(database))
  const [smallest, largest] = [opened.at(0), opened.at(-1)] as [Opened, Opened]
  const sizes = databases.map(({ entries }) => entries)
  const deep = middlePage(largest.database.entries)
  const pages = [1, 10, 100, 1000, 10_000].filter((page) => page < deep).concat(deep)

  const cases: Record<string, Case> = {}
  for (const request of Object.keys(growthTitles) as GrowthName[]) {
    for (const { service, paths, database } of opened) {
      cases[sizeCase(request, database.entries)] = () => service.measure(load, paths[request], 1, ms)
    }
  }
  for (const request of countedNames) {
    for (const { counting, paths, database } of opened) {
      cases[countingCase(request, database.entries)] = () => counting.measure(load, paths[request], 1, ms)
    }
  }
  for (const page of pages) {
    const path = pagePath(page)
    // A deep page takes long, and a round must have several requests, besides the one that counts the total.
    const long = page === deep ? DEEP * ms : ms
    cases[pageCase('service', page)] = () => largest.service.measure(load, path, 1, long)
    cases[pageCase('driver', page)] = () => largest.driver.measure({ path, work: 'find', concurrency: 1, ms: long })
  }
  const results = await measureRounds(cases, ROUNDS, say)

  const [small, large] = [smallest.database.entries, largest.database.entries]
  const between = (above: string, below: string) => ratio('p50', results[above] ?? [], results[below] ?? [])
  const grown = (name: typeof sizeCase, request: GrowthName) => between(name(request, large), name(request, small))
  const ratios = {
    'growth.page1': grown(sizeCase, 'page1'),
    'growth.byId': grown(sizeCase, 'byId'),
    'growth.filtered': grown(sizeCase, 'filtered'),
    'growth.filteredTwice': grown(sizeCase, 'filteredTwice'),
    'growth.deepPage': grown(sizeCase, 'deepPage'),
    'growth.page1Counting': grown(countingCase, 'page1'),
    'growth.filteredCounting': grown(countingCase, 'filtered'),
    'deepPage.vsRawDriver': between(pageCase('service', deep), pageCase('driver', deep)),
  }
  say('explaining')
  return { sizes, pages, results, ratios, plans: [...(await plansOf(smallest)), ...(await plansOf(largest))] }
}

const plansOf = async ({ driver, paths, database: { entries } }: Opened): Promise<Plan[]> => {
  const plans: Plan[] = []
  for (const [request, path] of Object.entries(paths) as [GrowthName, string][]) {
    plans.push({ title: growthTitles[request], entries, path, plan: await driver.explain(path) })
    if (request !== 'byId') {
      plans.push({
        title: `${growthTitles[request]}: its total`,
        entries,
        path,
        plan: await driver.explain(path, true),
      })
    }
  }
  return plans
}
