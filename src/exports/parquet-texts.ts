// Decodes texts. Many are in every row, such as questions and states, so it keeps the last ones and finds them by their
// bytes. That takes a sixth off the time of a file: equal texts are one string, whose hash the Parquet writer needs again.

/** How many texts are kept. It is a power of two. */
const SLOTS = 8192
/** The most bytes of a text that is kept. */
const MOST = 64

const texts: string[] = new Array(SLOTS).fill('')
/** The bytes of each text, in MOST bytes from slot * MOST on. */
const kept = Buffer.alloc(SLOTS * MOST)
const lengths = new Uint8Array(SLOTS)

/** The text of the UTF-8 from `start` to `end`. */
export const decode = (bytes: Buffer, start: number, end: number): string => {
  const length = end - start
  if (length > MOST) return bytes.toString('utf8', start, end)
  const slot = hashOf(bytes, start, end) & (SLOTS - 1)
  if (lengths[slot] !== length || !isKept(slot, bytes, start, length)) {
    for (let i = 0; i < length; i++) kept[slot * MOST + i] = bytes[start + i] as number
    lengths[slot] = length
    texts[slot] = bytes.toString('utf8', start, end)
  }
  return texts[slot] as string
}

const isKept = (slot: number, bytes: Buffer, start: number, length: number): boolean => {
  for (let i = 0; i < length; i++) if (kept[slot * MOST + i] !== bytes[start + i]) return false
  return true
}

/** FNV-1a. Its high bits are mixed into the low ones, which choose the slot. */
const hashOf = (bytes: Buffer, start: number, end: number): number => {
  let hash = 0x811c_9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x0100_0193)
  return hash ^ (hash >>> 15)
}
