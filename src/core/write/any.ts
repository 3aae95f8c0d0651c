// Writes values of Type.Unknown, which are shown as they are stored, whatever they are.
import { Bson, type Bytes, type Element, elements } from '../bson/reader.js'
import { type ScalarWriter, scalars, WrongValue } from './scalars.js'

/** How deep values of Type.Unknown may nest. MongoDB stores at most 100 levels. */
const MAX_DEPTH = 100

export const comma = 0x2c
export const openObject = 0x7b
export const closeObject = 0x7d
export const openArray = 0x5b
export const closeArray = 0x5d

const typeNames = new Map<number, string>(Object.entries(Bson).map(([name, type]) => [type, name]))

/** @throws WrongValue */
export const wrongType = (type: number, at: number, expected: string): never => {
  throw new WrongValue(`is BSON ${typeNames.get(type)}, not ${expected}`, at)
}

/** The writers for the scalars of Type.Unknown, by BSON type. */
const anyScalars = new Map(
  [scalars.string, scalars.number, scalars.boolean, scalars.instant, scalars.null].flatMap(({ bsonTypes, write }) =>
    bsonTypes.map((type) => [type, write]),
  ),
)

export const any: ScalarWriter = {
  name: 'writeAny',
  expected: 'a value that JSON can represent',
  bsonTypes: [Bson.document, Bson.array, ...anyScalars.keys()],
  write: (input, type, at, output, to) => writeNested(input, type, at, output, to, 0),
}

const writeNested = (input: Bytes, type: number, at: number, output: Bytes, begin: number, depth: number): number => {
  if (type !== Bson.document && type !== Bson.array) {
    const write = anyScalars.get(type) ?? wrongType(type, at, any.expected)
    return write(input, type, at, output, begin)
  }
  if (depth === MAX_DEPTH) throw new WrongValue(`nests deeper than ${MAX_DEPTH} levels`, at)
  const isArray = type === Bson.array
  const { bytes } = output
  let to = begin
  bytes[to++] = isArray ? openArray : openObject
  for (const element of isArray ? elements(input.bytes, at) : members(input.bytes, at)) {
    if (to > begin + 1) bytes[to++] = comma
    if (!isArray) to += bytes.write(`${JSON.stringify(element.name)}:`, to)
    to = writeNested(input, element.type, element.at, output, to, depth + 1)
  }
  bytes[to++] = isArray ? closeArray : closeObject
  return to
}

/** The elements of the document at a place. If several have the same name, only the last is one of them. */
export const members = (bytes: Buffer, at: number): Iterable<Element> =>
  new Map(Array.from(elements(bytes, at), (element) => [element.name, element])).values()
