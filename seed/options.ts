// What demo data there can be. It stands apart from the data, which takes long to load.

/** How much data to generate. Dispatches and entries are totals, spread evenly over the organisations. */
export interface SeedOptions {
  seed: number
  organisations: number
  dispatches: number
  entries: number
}

/** The options of the demo data that the embedded store serves. */
export const demoOptions: SeedOptions = { seed: 42, organisations: 2, dispatches: 48, entries: 3000 }

export const scenarios = {
  tiny: 'a dozen records to read at a glance',
  demo: 'two organisations with some of everything',
  survey: 'one long form with all types of questions, and a thousand entries',
  campaign: 'many projects and dispatches, and agents of all statuses as recipients',
  'worst-case': 'every field at its largest or strangest, two thousand recipients, many entries of one instant',
} as const

export type Scenario = keyof typeof scenarios

export const scenarioNames = Object.keys(scenarios) as [Scenario, ...Scenario[]]
