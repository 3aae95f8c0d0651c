// Random texts of any Unicode characters. Those of fast-check need a table of all characters, which takes a second to make.
import fc from 'fast-check'

const SURROGATES = 0x800
const FIRST_SURROGATE = 0xd800

const character = fc
  .nat(0x10ffff - SURROGATES)
  .map((n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES))

export const anyText = fc.string({ unit: character })
