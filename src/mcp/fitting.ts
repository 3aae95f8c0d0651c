// A result has at most 64 KiB, because an assistant reads each word of it. What is cut says so.

const MAX_BYTES = 64 * 1024
/** After so many characters texts are cut, and lists of texts and lists in records after as many items; then after half as many. */
const MOST = 8 * 1024 * 1024
/** A list of records is cut after this part of that. */
const PART = 1024
const LESS =
  'Ask for less by filters, fewer fields, a smaller limit or top. count_entries counts all, also answers, by the key of a question.'

export const fitting = (result: object): Record<string, unknown> => {
  let shown = result
  for (let most = MOST; Buffer.byteLength(JSON.stringify(shown)) > MAX_BYTES; most /= 2) {
    const records = Math.floor(most / PART)
    const truncated = `At most ${records} records of each list, and ${Math.floor(most)} characters of each text. ${LESS}`
    shown = { ...(cut(result, most, records) as object), truncated }
  }
  return { ...shown }
}

const cut = (value: unknown, most: number, records: number): unknown => {
  if (typeof value === 'string') return value.slice(0, most)
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cut(each, most, records)]))
  }
  const isOfRecords = typeof value[0] === 'object'
  return value.slice(0, isOfRecords ? records : most).map((each) => cut(each, most, most))
}
