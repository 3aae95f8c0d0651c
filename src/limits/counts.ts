// Counts by key, and in all. A key that counts nothing takes no memory.

export class Counts {
  #total = 0
  readonly #of = new Map<string, number>()

  get total(): number {
    return this.#total
  }

  of(key: string): number {
    return this.#of.get(key) ?? 0
  }

  /** Adds an amount, or takes it away if it is negative. */
  add(key: string, amount: number): void {
    const count = this.of(key) + amount
    this.#total += amount
    if (count === 0) this.#of.delete(key)
    else this.#of.set(key, count)
  }
}
