// A limited amount that all keys share, and of which each key may take a part.

export class Budget {
  #taken = 0
  readonly #takenBy = new Map<string, number>()

  constructor(
    readonly max: number,
    readonly maxPerKey: number,
  ) {}

  /**
   * Whether a key may take this much more. Each limit applies only once something is taken: so a key that holds nothing may
   * take more than its part, and while nobody holds anything, even more than the whole.
   */
  hasRoom(key: string, more: number): boolean {
    const own = this.#takenBy.get(key) ?? 0
    return (this.#taken === 0 || this.#taken + more <= this.max) && (own === 0 || own + more <= this.maxPerKey)
  }

  /** Takes an amount, or gives it back if it is negative. */
  take(key: string, amount: number): void {
    const own = (this.#takenBy.get(key) ?? 0) + amount
    this.#taken += amount
    if (own === 0) this.#takenBy.delete(key)
    else this.#takenBy.set(key, own)
  }
}
