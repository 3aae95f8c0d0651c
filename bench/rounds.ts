// Interleaved rounds. Each round measures every case once, so that a machine that is slow for a while slows all cases.
import type { Measured } from './processes.js'
import { median } from './timing.js'
import { usually } from './trial.js'

interface Rounds {
  /** The number of rounds that come first and are discarded. */
  warmUp: number
  counted: number
}

const ONCE: Rounds = { warmUp: 0, counted: 1 }
export const ROUNDS = usually<Rounds>({ warmUp: 1, counted: 5 }, ONCE)
/**
 * The cases of a ratio take many short turns. So the two sides of the ratio are measured within seconds of each other, and
 * no process is idle for so long that V8 discards its compiled code. V8 goes on compiling the service for about eight
 * seconds of work, hence the long warm-up.
 */
export const COMPARED = usually<Rounds>({ warmUp: 20, counted: 20 }, ONCE)
export const COMPARED_QUICKLY = usually<Rounds>({ warmUp: 10, counted: 6 }, ONCE)

/** Ratios by their names. Those that were taken of several processes also have `NAME.lowest` and `NAME.highest`. */
export type Ratios = Record<string, number>

/** Measures once. */
export type Case = () => Promise<Measured>

/** The measurements of the counted rounds, by the name of the case. */
export type Results<N extends string = string> = Record<N, Measured[]>

/** Measures the cases in order in one round, and in reverse order in the next. */
export const measureRounds = async <N extends string>(
  cases: Record<N, Case>,
  { warmUp, counted }: Rounds,
  say: (text: string) => void,
): Promise<Results<N>> => {
  const forward = Object.entries(cases) as [N, Case][]
  const backward = forward.toReversed()
  const results = Object.fromEntries(forward.map(([name]): [string, Measured[]] => [name, []])) as Results<N>
  // The rounds up to 0 are the warm-up.
  for (let round = 1 - warmUp; round <= counted; round++) {
    for (const [name, measure] of round % 2 === 0 ? forward : backward) {
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

/** Computes a ratio in each round, and returns the median of these ratios. */
export const ratio = (field: keyof Measured, above: readonly Measured[], below: readonly Measured[]): number =>
  median(above.map((measured, round) => measured[field] / (below[round] as Measured)[field]))

/** A ratio that was taken of several processes: their median, the lowest and the highest. */
export const spreadOf = (name: string, values: readonly number[]): Ratios => ({
  [name]: median(values),
  [`${name}.lowest`]: Math.min(...values),
  [`${name}.highest`]: Math.max(...values),
})
