// Lets only a few pieces of work pass in each turn of the event loop, in their order. So the turns are short, and other
// connections, such as those of health checks, have theirs soon.

export class Turns {
  #passed = 0
  readonly #waiting: (() => void)[] = []

  constructor(readonly perTurn: number) {}

  /** Resolves in the first turn that has room. Undefined if this one has. */
  pass(): Promise<void> | undefined {
    if (this.#passed === this.perTurn) return new Promise((resolve) => this.#waiting.push(resolve))
    if (this.#passed === 0) setImmediate(this.#next)
    this.#passed += 1
    return undefined
  }

  readonly #next = (): void => {
    const begun = this.#waiting.splice(0, this.perTurn)
    this.#passed = begun.length
    if (begun.length > 0) setImmediate(this.#next)
    for (const resolve of begun) resolve()
  }
}
