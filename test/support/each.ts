// Comparisons in loops. As assertions of tap, each of thousands would be a line that one process writes and another one reads;
// here what is wrong is collected, and the test says it once.
import { inspect, isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'

/** How many wrong ones a failure shows. */
const SHOWN = 20

export class Each {
  readonly #wrong: string[] = []
  #count = 0

  ok(isRight: unknown, what: string): void {
    this.#count += 1
    if (!isRight) this.#wrong.push(what)
  }

  equal(found: unknown, wanted: unknown, what: string): void {
    const isEqual = isDeepStrictEqual(found, wanted)
    this.ok(isEqual, isEqual ? what : `${what}: ${inspect(found)} is not ${inspect(wanted)}`)
  }

  /** Says in a test what was wrong, and fails if nothing was compared. */
  end(t: Test): void {
    t.same(this.#wrong.slice(0, SHOWN), [], `${this.#wrong.length} of ${this.#count} are wrong`)
    t.ok(this.#count > 0, 'something is compared')
  }
}

/** A test that compares in loops. */
export const inEach = (run: (each: Each, t: Test) => Promise<void>) => async (t: Test) => {
  const each = new Each()
  try {
    await run(each, t)
  } finally {
    each.end(t)
  }
}
