// Measures how long an operation takes when several workers repeat it for a while, and single requests.
import { get } from 'node:http'

export interface Timing {
  requests: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** Each worker repeats `once` until the time is over. Returns the duration of each run, in milliseconds. */
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

/** Does the same and summarises the durations. */
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

/** The smallest of the sorted numbers that is at least as large as the given share of them. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2
}

/** The time of a request on a connection of its own, in milliseconds; infinite without a 200. */
export const timedAlone = (url: string, headers = {}): Promise<number> =>
  new Promise((resolve) => {
    const start = performance.now()
    get(url, { agent: false, headers }, (response) => {
      response.resume().on('close', () => {
        const isFine = response.statusCode === 200 && response.complete
        resolve(isFine ? performance.now() - start : Number.POSITIVE_INFINITY)
      })
    }).on('error', () => resolve(Number.POSITIVE_INFINITY))
  })
