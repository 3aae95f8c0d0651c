// Interleaved rounds: in each every case is measured once, so that what slows the machine down for a while slows all.
import type { Measured } from './processes.js'
import { median } from './timing.js'

export const ROUNDS = 5

export interface Case {
  run: (ms: number) => Promise<Measured>
  /** How long it is measured in each round, in milliseconds. */
  ms: number
  /** How long it runs before the first, until V8 has compiled what is hot. */
  warmUpMs?: number
}

/** What was measured in each round, by the name of the case. */
export type Results<N extends string = string> = Record<N, Measured[]>

/** Measures all cases in rounds, after one for warming up that does not count. */
export const measureRounds = async <N extends string>(
  cases: Record<N, Case>,
  say: (text: string) => void,
): Promise<Results<N>> => {
  const entries = Object.entries(cases) as [N, Case][]
  const results = Object.fromEntries(entries.map(([name]): [string, Measured[]] => [name, []])) as Results<N>
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, { run, ms, warmUpMs = ms }] of entries) {
      const measured = await run(round === 0 ? warmUpMs : ms)
      if (round > 0) results[name].push(measured)
    }
    say(round === 0 ? 'warmed up' : `round ${round} of ${ROUNDS}`)
  }
  return results
}

/** The medians of the rounds. */
export const medians = (rounds: readonly Measured[]): Measured => {
  const of = (field: keyof Measured) => median(rounds.map((round) => round[field]))
  return {
    requests: of('requests'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    cpu: of('cpu'),
    rss: of('rss'),
  }
}

/** The median of the ratios of one round each. */
export const ratio = (field: keyof Measured, above: readonly Measured[], below: readonly Measured[]): number =>
  median(above.map((measured, round) => measured[field] / (below[round] as Measured)[field]))
