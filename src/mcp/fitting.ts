// A result has at most 64 KiB, because an assistant reads each word of it. What is cut says so.

const MAX_BYTES = 64 * 1024
/** Lists of records are cut first: a record that is whole says more than several that are not. */
const PART = 1024
/** Lists that are in a record. In a table, they have numbers. */
const INSIDE = /^(\d+|choices)$/
const LESS =
  'Where the tool has them, filters, fields and a smaller limit or top ask for less. count_entries counts all, also answers, by the key of a question. GET /v1/entries/{id} has a whole entry.'

interface Found {
  /** How many items some of its lists would have, were none left out. */
  readonly of?: Readonly<Record<string, number>>
}

/** The JSON of a result, cut until it fits. */
export const fitting = ({ of = {}, ...result }: Found): string => {
  const cuts = new Map<string, string>()
  const say = (name: string, length: number, all: number) =>
    cuts.set(name, `${name} has the first ${length} of ${all}.`)
  const said = (json: string): string =>
    cuts.size === 0 ? json : `${json.slice(0, -1)},"truncated":${JSON.stringify([...cuts.values(), LESS].join(' '))}}`
  for (const [name, all] of Object.entries(of)) {
    const { length } = (result as Record<string, unknown[]>)[name] as unknown[]
    if (length < all) say(name, length, all)
  }
  let text = said(JSON.stringify(result))
  // The first round only finds what is longest.
  for (let most = Number.POSITIVE_INFINITY; Buffer.byteLength(text) > MAX_BYTES; ) {
    let longest = 0
    const cut = (name: string, value: unknown): unknown => {
      const isList = Array.isArray(value)
      if (!isList && typeof value !== 'string') return value
      const part = isList && typeof value[0] === 'object' && !INSIDE.test(name) ? PART : 1
      const length = Math.floor(most / part)
      longest = Math.max(longest, value.length * part)
      if (value.length > length) say(name, length, of[name] ?? value.length)
      return value.slice(0, length)
    }
    text = said(JSON.stringify(result, cut))
    most = Math.floor(Math.min(most, longest) * Math.min(0.9, MAX_BYTES / Buffer.byteLength(text)))
  }
  return text
}
