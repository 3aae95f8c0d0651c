// Damage to bytes, drawn at random: for what must endure any bytes.
import fc from 'fast-check'

/** Gives a damaged copy of bytes. */
type Damage = (bytes: Buffer) => Buffer

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const byte = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1, 2, 3, 4, 5, 7, 8, 0x0a, 0x7f, 0x80, 0xff))

/** One damage to bytes, with a name that a failing test shows. */
export const damages: fc.Arbitrary<{ name: string; apply: Damage }> = fc
  .tuple(fc.constantFrom('flip', 'set', 'insert', 'delete', 'truncate', 'swap'), place, place, byte)
  .map(([name, where, other, value]) => {
    const apply: Damage = (bytes) => {
      const at = Math.floor(where * bytes.length)
      const copy = Buffer.from(bytes)
      switch (name) {
        case 'flip':
          copy.writeUInt8((copy[at] ?? 0) ^ (1 << (value & 7)), at)
          return copy
        case 'set':
          copy.writeUInt8(value, at)
          return copy
        case 'insert':
          return Buffer.concat([copy.subarray(0, at), Buffer.alloc(1 + (value & 7), value), copy.subarray(at)])
        case 'delete':
          return Buffer.concat([copy.subarray(0, at), copy.subarray(at + 1 + (value & 7))])
        case 'truncate':
          return copy.subarray(0, at)
        default:
          // A part of the bytes is repeated at another place.
          copy.copy(copy, at, Math.floor(other * bytes.length), Math.floor(other * bytes.length) + value)
          return copy
      }
    }
    return {
      name: `${name} ${value} at ${where}`,
      apply: (bytes: Buffer) => (bytes.length === 0 ? bytes : apply(bytes)),
    }
  })

/** Bytes with up to four damages, of any of the given texts. */
export const damagedText = (...texts: readonly string[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.constantFrom(...texts), fc.array(damages, { minLength: 1, maxLength: 4 }))
    .map(([text, several]) => several.reduce<Buffer>((bytes, { apply }) => apply(bytes), Buffer.from(text)))
