// How something is timed: so many workers do it again and again for a while.

export interface Timing {
  requests: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** Runs `once` in each of the workers, one after another, until the time is over; gives each time, in milliseconds. */
export const timesOf = async (
  concurrency: number,
  ms: number,
  once: (worker: number) => Promise<unknown>,
): Promise<number[]> => {
  const times: number[] = []
  const start = performance.now()
  const work = async (worker: number) => {
    for (let from = performance.now(); from < start + ms; ) {
      await once(worker)
      const to = performance.now()
      times.push(to - from)
      from = to
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, worker) => work(worker)))
  return times
}

/** The same in numbers. */
export const timed = async (...args: Parameters<typeof timesOf>): Promise<Timing> => {
  const start = performance.now()
  const times = await timesOf(...args)
  const seconds = (performance.now() - start) / 1000
  return { requests: times.length, perSecond: times.length / seconds, ...quantiles(times) }
}

export const quantiles = (times: readonly number[]): Pick<Timing, 'p50' | 'p99'> => {
  const sorted = [...times].sort((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}

/** Of sorted numbers the one that a share of them does not exceed. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2
}
