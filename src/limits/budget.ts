// A budget that all share, of which one key gets a part.

export class Budget {
  #taken = 0
  readonly #takenBy = new Map<string, number>()

  constructor(
    readonly most: number,
    readonly mostPerKey: number,
  ) {}

  /** Whether there is room for so much more. Whoever has taken nothing yet may take more than its part, but not of others. */
  hasRoom(key: string, more: number): boolean {
    const own = this.#takenBy.get(key) ?? 0
    return (this.#taken === 0 || this.#taken + more <= this.most) && (own === 0 || own + more <= this.mostPerKey)
  }

  /** Takes so much, or gives it back where it is negative. */
  take(key: string, more: number): void {
    const own = (this.#takenBy.get(key) ?? 0) + more
    this.#taken += more
    if (own === 0) this.#takenBy.delete(key)
    else this.#takenBy.set(key, own)
  }
}
