// Compares values as MongoDB sorts them: first by type, and strings by their UTF-8 bytes.
// Source: MongoDB manual, "Comparison/Sort Order".
import { Long } from 'mongodb'

const RANKS: Readonly<Record<string, number>> = { undefined: 0, number: 2, bigint: 2, string: 3, object: 4, boolean: 5 }

/** The rank of a value's type. A missing value ranks as null does, and NaN before all other numbers. */
const rank = (value: unknown): number => {
  if (value === null) return 0
  if (value instanceof Date) return 6
  return Number.isNaN(value) ? 1 : (RANKS[typeof value] as number)
}

/** Negative if `a` sorts before `b`, positive if after, 0 if they are equal. All objects are equal here. */
export const compareValues = (one: unknown, other: unknown): number => {
  const [a, b] = [exact(one), exact(other)]
  const type = rank(a)
  if (type !== rank(b)) return type - rank(b)
  if (type === 3) return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
  if (type < 2 || type === 4) return 0
  return (a as number) < (b as number) ? -1 : Number((a as number) > (b as number))
}

/** Whether two values have the same type. Conditions such as `$gt` match only values of the same type. */
export const isSameType = (a: unknown, b: unknown): boolean => rank(exact(a)) === rank(exact(b))

/** An integer that no number holds exactly is a Long when it is read from BSON. JavaScript compares a bigint with numbers. */
const exact = (value: unknown): unknown => (Long.isLong(value) ? value.toBigInt() : value)
