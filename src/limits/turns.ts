// Lets only a few pieces of work pass in each turn of the event loop, in their order. So the turns are short, and other
// connections, such as those of health checks, have theirs soon.

export class Turns {
  #passed = 0
  #isLooking = false
  readonly #waiting: (() => void)[] = []

  /** @param isHeld says whether nothing may pass in this turn */
  constructor(
    readonly perTurn: number,
    readonly isHeld: () => boolean,
  ) {}

  /** Resolves in the first turn that has room. Undefined if this one has. */
  pass(): Promise<void> | undefined {
    if (!this.#isLooking) setImmediate(this.#next)
    this.#isLooking = true
    if (this.#passed === this.perTurn || this.isHeld()) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#passed += 1
    return undefined
  }

  readonly #next = (): void => {
    const begun = this.#waiting.splice(0, this.isHeld() ? 0 : this.perTurn)
    this.#passed = begun.length
    this.#isLooking = begun.length + this.#waiting.length > 0
    if (this.#isLooking) setImmediate(this.#next)
    for (const resolve of begun) resolve()
  }
}
