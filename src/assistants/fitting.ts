// A result has at most 64 KiB, because an assistant reads each word of it. What is cut says so.
import type { ToolResult } from '../core/door/tools.js'

const MAX_BYTES = 64 * 1024
/** A record in a list counts as this many characters, so that such lists are cut first: a whole record says more than two halves. */
const PART = 1024
/** A choice counts as this many, because a question says much without its choices. */
const CHOICE = 40 * PART
/** Lists that are in a record have numbers in a table. */
const INSIDE = /^\d+$/
const LESS =
  'Where the tool has them, filters, fields, a question and a smaller limit or top ask for less. count_entries counts all: forms with names=true, answers by the key of a question. GET /v1/entries/{id} has a whole entry.'

export const fitting = ({ of = {}, ...result }: ToolResult): string => {
  /** The longest value that was cut of each name. */
  const cuts = new Map<string, { all: number; length: number }>()
  const say = (name: string, length: number, all: number) => {
    const item = INSIDE.test(name) ? 'an item' : name
    if (all >= (cuts.get(item)?.all ?? 0)) cuts.set(item, { all, length })
  }
  const said = (json: string): string => {
    const all = [...cuts].map(([name, { length, all }]) => `${name} has the first ${length} of ${all}.`)
    return all.length === 0 ? json : `${json.slice(0, -1)},"truncated":${JSON.stringify([...all, LESS].join(' '))}}`
  }
  for (const [name, all] of Object.entries(of)) {
    const { length } = result[name] as unknown[]
    if (length < all) say(name, length, all)
  }
  let text = said(JSON.stringify(result))
  // The first round only finds what is longest.
  for (let most = Number.POSITIVE_INFINITY; Buffer.byteLength(text) > MAX_BYTES; ) {
    let longest = 0
    const cut = (name: string, value: unknown): unknown => {
      const isList = Array.isArray(value)
      if (!isList && typeof value !== 'string') return value
      const isOfRecords = isList && typeof value[0] === 'object' && !INSIDE.test(name)
      const isOfTexts = isList && value.every((each) => typeof each === 'string')
      const weight = name === 'choices' ? CHOICE : isOfRecords ? PART : 1
      const size = isOfTexts ? JSON.stringify(value).length : value.length * weight
      longest = Math.max(longest, size)
      const length = Math.max(isList ? 1 : 0, Math.floor(value.length * Math.min(1, most / size)))
      if (length >= value.length) return value
      say(name, length, of[name] ?? value.length)
      // No half of a character beyond the Basic Multilingual Plane.
      return isList ? value.slice(0, length) : value.slice(0, length).replace(/[\ud800-\udbff]$/, '')
    }
    text = said(JSON.stringify(result, cut))
    // Steps that are not too large, because what is cut first may be most of it.
    const step = Math.max(0.25, Math.min(0.9, MAX_BYTES / Buffer.byteLength(text)))
    most = Math.floor(Math.min(most, longest) * step)
  }
  return text
}
