// The order of values as MongoDB sorts them: by type first, strings by their UTF-8 bytes.
// Source: MongoDB manual, "Comparison/Sort Order".

/** The place of a value's type in the order; null and a missing value are the same, NaN comes before all numbers. */
const rank = (value: unknown): number => {
  switch (typeof value) {
    case 'undefined':
      return 0
    case 'number':
      return Number.isNaN(value) ? 1 : 2
    case 'string':
      return 3
    case 'boolean':
      return 5
    default:
      return value === null ? 0 : value instanceof Date ? 6 : 4
  }
}

/** Negative when `a` sorts before `b`, positive when after, 0 when they are equal or have no order here (objects). */
export const compareValues = (a: unknown, b: unknown): number => {
  const type = rank(a)
  if (type !== rank(b)) return type - rank(b)
  if (type === 3) return compareStrings(a as string, b as string)
  return type < 2 || type === 4 ? 0 : Number(a) - Number(b) || 0
}

/** Whether two values are of one type: conditions such as `$gt` find no other. */
export const isSameType = (a: unknown, b: unknown): boolean => rank(a) === rank(b)

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

/** Compares by UTF-8 bytes, which is the order of code points: a surrogate comes after every unit that is none. */
const compareStrings = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}
