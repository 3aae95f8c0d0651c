// The only source of chance in the demo data. Nothing here may read the clock or Math.random: the same seed has to give
// the same data on every machine.

/** Draws a number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number

/** A generator (mulberry32) of its own for each seed; it uses integers alone, so every JavaScript engine agrees on it. */
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

/** One of the items, which may not be empty. */
export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
