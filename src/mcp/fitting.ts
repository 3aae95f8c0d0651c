// A result has at most 64 KiB, because an assistant reads each word of it. What is cut says so.

const MAX_BYTES = 64 * 1024
/** Lists of records are cut first: a record that is whole says more than several that are not. */
const PART = 1024
/** Lists that are in a record. In a table, they have numbers. */
const INSIDE = /^(\d+|choices)$/
const LESS =
  'Filters, fewer fields, a smaller limit or top ask for less. count_entries counts all, also answers, by the key of a question.'

export const cutTo = (name: string, length: number, of: number): string => `${name} has the first ${length} of ${of}.`

/** The JSON of a result, cut until it fits. It may say what was cut of it before. */
export const fitting = (found: object): string => {
  const { truncated = '', ...result } = found as { truncated?: string }
  const saying = (json: string, cuts: string): string =>
    cuts === '' ? json : `${json.slice(0, -1)},"truncated":${JSON.stringify(`${cuts} ${LESS}`)}}`
  let text = saying(JSON.stringify(result), truncated)
  // The first round only finds what is longest.
  for (let most = Number.POSITIVE_INFINITY; Buffer.byteLength(text) > MAX_BYTES; ) {
    const cuts = new Map([['', truncated]])
    let longest = 0
    const cut = (name: string, value: unknown): unknown => {
      const isList = Array.isArray(value)
      if (!isList && typeof value !== 'string') return value
      const part = isList && typeof value[0] === 'object' && !INSIDE.test(name) ? PART : 1
      const length = Math.floor(most / part)
      longest = Math.max(longest, value.length * part)
      if (value.length > length) cuts.set(name, cutTo(name, length, value.length))
      return value.slice(0, length)
    }
    text = saying(JSON.stringify(result, cut), [...cuts.values()].join(' ').trim())
    most = Math.floor(Math.min(most, longest) * Math.min(0.9, MAX_BYTES / Buffer.byteLength(text)))
  }
  return text
}
