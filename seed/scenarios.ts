// The data of each scenario, up to any day.
import { campaignData } from './campaign.js'
import { type Batch, seedData } from './index.js'
import { demoOptions, type Scenario, type SeedOptions } from './options.js'
import { surveyData } from './survey.js'
import { DAY, UNTIL } from './timeline.js'
import { tinyData } from './tiny.js'
import { worstCaseData } from './worst-case.js'

export interface ScenarioOptions extends SeedOptions {
  scenario: Scenario
  /** The last day of the data, at midnight in UTC. */
  until?: Date
  /** If that day is not over yet, nothing happens in the data after this time. */
  now?: Date
}

/** The last day of the data if no other is asked for. */
export const LAST_DAY = new Date(UNTIL - DAY)

/** Generates a scenario in batches. The numbers of organisations, dispatches and entries are for `demo` alone. */
export function* scenarioData({
  scenario,
  until,
  now,
  ...options
}: Pick<ScenarioOptions, 'scenario'> & Partial<ScenarioOptions>): Generator<Batch> {
  const all = { ...demoOptions, ...options }
  const data = {
    tiny: tinyData,
    demo: () => seedData(all),
    survey: () => surveyData(all.seed),
    campaign: () => campaignData(all.seed),
    'worst-case': worstCaseData,
  }[scenario]()
  if (until === undefined) return yield* data
  const end = until.getTime() + DAY - 1
  const isToday = now !== undefined && now >= until
  yield* moved(data, until.getTime() - LAST_DAY.getTime(), isToday ? Math.min(end, now.getTime()) : end)
}

function* moved(data: Iterable<Batch>, by: number, latest: number): Generator<Batch> {
  for (const batch of data) yield movedValue(batch, by, latest) as Batch
}

/** What is planned may lie in the future. */
const PLANS = new Set(['startDate', 'dueDate'])

/** An id of the demo data, which begins with the second in which its document was created. */
const ID = /^[0-9a-f]{24}$/

/** A value with all its dates moved, none but plans beyond the latest time, and the ids with them. */
const movedValue = (value: unknown, by: number, latest: number): unknown => {
  if (value instanceof Date) return new Date(Math.min(value.getTime() + by, latest))
  if (typeof value === 'string' && ID.test(value)) {
    const second = Number.parseInt(value.slice(0, 8), 16) + by / 1000
    return second.toString(16).padStart(8, '0') + value.slice(8)
  }
  if (Array.isArray(value)) return value.map((item) => movedValue(item, by, latest))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      movedValue(inner, by, PLANS.has(name) ? Number.POSITIVE_INFINITY : latest),
    ]),
  )
}
