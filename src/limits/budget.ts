// A limited amount that all keys share, and of which each key may take a part.
import { Counts } from './counts.js'

export class Budget {
  readonly #taken = new Counts()

  constructor(
    readonly max: number,
    readonly maxPerKey: number,
  ) {}

  /** How much all keys have taken. */
  get taken(): number {
    return this.#taken.total
  }

  /**
   * Whether a key may take this much more. Each limit applies only once something is taken: so a key that holds nothing may
   * take more than its part, and while nobody holds anything, even more than the whole.
   */
  hasRoom(key: string, more: number): boolean {
    const { total } = this.#taken
    const held = this.#taken.of(key)
    return (total === 0 || total + more <= this.max) && (held === 0 || held + more <= this.maxPerKey)
  }

  /** Takes an amount, or gives it back if it is negative. */
  take(key: string, amount: number): void {
    this.#taken.add(key, amount)
  }
}
