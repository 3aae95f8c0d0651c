// The only source of random numbers in the demo data. Do not use the clock or Math.random here: the same seed must give the
// same data on every machine.

/** Returns a number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number

/** A random generator (mulberry32). It only uses integers, so it gives the same numbers in every JavaScript engine. */
export function createRandom(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** An integer from `from` to `to`, both included. */
export const integer = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1))

/** One of the items. There must be at least one. */
export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
