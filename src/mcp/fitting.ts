// A result has at most 64 KiB, because an assistant reads each word of it. What is cut says so.

const MAX_BYTES = 64 * 1024
/** After so many characters texts are cut, and lists after as many items; then after half as many, and so on. */
const MOST = 8 * 1024 * 1024
/** A list of records is cut after this part of that: a record that is whole says more than several that are not. */
const PART = 1024
const LESS =
  'Filters, fewer fields, a smaller limit or top ask for less. count_entries counts all, also answers, by the key of a question.'

export const fitting = (result: object): Record<string, unknown> => {
  let shown = result
  for (let most = MOST; Buffer.byteLength(JSON.stringify(shown)) > MAX_BYTES; most = Math.floor(most / 2)) {
    const lengths = new Map<string, string>()
    const first = <T extends string | readonly unknown[]>(name: string, value: T, length: number): T => {
      if (value.length > length) lengths.set(name, `${name} has the first ${length} of ${value.length}`)
      return value.slice(0, length) as T
    }
    const cut = (value: unknown, name = '', records = most): unknown => {
      if (typeof value === 'string') return first(name, value, most)
      if (typeof value !== 'object' || value === null) return value
      if (Array.isArray(value)) {
        const isOfRecords = typeof value[0] === 'object'
        return first(name, value, isOfRecords ? records : most).map((each) => cut(each, name))
      }
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cut(each, name, records)]))
    }
    const fits = cut(result, '', Math.floor(most / PART)) as object
    shown = { ...fits, truncated: `${[...lengths.values()].join('; ')}. ${LESS}` }
  }
  return { ...shown }
}
