// A result has at most 64 KiB, because an assistant reads each word of it. What is cut says so.

const MAX_BYTES = 64 * 1024
/** After so many characters texts are cut, and lists in records after as many items; then after half as many, and so on. */
const MOST = 8 * 1024 * 1024
/** A list of records is cut after this part of that: a record that is whole says more than several that are not. */
const PART = 1024
/** Lists that are in a record. In a table, they have numbers. */
const INSIDE = /^(\d+|choices)$/
const LESS =
  'Filters, fewer fields, a smaller limit or top ask for less. count_entries counts all, also answers, by the key of a question.'

/** The JSON of a result, of its beginnings where it is too long. */
export const fitting = (result: object): string => {
  let json = JSON.stringify(result)
  for (let most = MOST; Buffer.byteLength(json) > MAX_BYTES; most = Math.floor(most / 2)) {
    const lengths = new Map<string, string>()
    const cut = (name: string, value: unknown): unknown => {
      const isList = Array.isArray(value)
      if (!isList && typeof value !== 'string') return value
      const isOfRecords = isList && typeof value[0] === 'object' && !INSIDE.test(name)
      const length = isOfRecords ? Math.floor(most / PART) : most
      if (value.length > length) lengths.set(name, `${name} has the first ${length} of ${value.length}`)
      return value.slice(0, length)
    }
    const shown = JSON.parse(JSON.stringify(result, cut))
    json = JSON.stringify({ ...shown, truncated: `${[...lengths.values()].join('; ')}. ${LESS}` })
  }
  return json
}
