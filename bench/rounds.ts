// Interleaved rounds: in each every case is measured once, so that what slows the machine down for a while slows all.
import type { Measured } from './processes.js'
import { median } from './timing.js'

interface Rounds {
  /** How many come first and do not count. */
  warmUp: number
  counted: number
}

export const ROUNDS: Rounds = { warmUp: 1, counted: 5 }
/**
 * What a ratio compares takes many turns, which are short: its two sides lie seconds apart, and no process idles for so
 * long that V8 throws away what it has compiled. It goes on compiling a request of the service for some eight seconds.
 */
export const COMPARED: Rounds = { warmUp: 20, counted: 20 }

/** Measures once. */
export type Case = () => Promise<Measured>

/** What was measured in each round that counts, by the name of the case. */
export type Results<N extends string = string> = Record<N, Measured[]>

export const measureRounds = async <N extends string>(
  cases: Record<N, Case>,
  { warmUp, counted }: Rounds,
  say: (text: string) => void,
): Promise<Results<N>> => {
  const entries = Object.entries(cases) as [N, Case][]
  const results = Object.fromEntries(entries.map(([name]): [string, Measured[]] => [name, []])) as Results<N>
  // Rounds up to 0 warm up.
  for (let round = 1 - warmUp; round <= counted; round++) {
    for (const [name, measure] of entries) {
      const measured = await measure()
      if (round > 0) results[name].push(measured)
    }
    if (round >= 0) say(round === 0 ? 'warmed up' : `round ${round} of ${counted}`)
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
