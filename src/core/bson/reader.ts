// Reads BSON bytes (bsonspec.org, version 1.1): finds where values begin and end, and holds the documents that a query
// returned. It never turns documents into objects, and never reads outside the given bytes.

export const Bson = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  dbPointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  codeWithScope: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal128: 0x13,
  minKey: 0xff,
  maxKey: 0x7f,
} as const

/** Bytes with a DataView, through which V8 reads and writes several bytes in one step. */
export class Bytes {
  readonly view: DataView
  constructor(readonly bytes: Buffer) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }
}

/** The bytes are not valid BSON: for example, a wrong length, a missing end or an unknown type. */
export class DamagedBson extends Error {
  constructor(reason: string, at: number) {
    super(`Damaged BSON: ${reason} at byte ${at}`)
    this.name = 'DamagedBson'
  }
}

export class BsonDocument {
  constructor(
    readonly collection: string,
    readonly bytes: Buffer,
  ) {}
}

export class BsonList {
  readonly documents: readonly BsonDocument[]

  constructor(
    readonly collection: string,
    bytes: readonly Buffer[],
  ) {
    this.documents = bytes.map((each) => new BsonDocument(collection, each))
  }

  get size(): number {
    return sizeOf(this.documents)
  }
}

export const sizeOf = (documents: readonly BsonDocument[]): number =>
  documents.reduce((size, { bytes }) => size + bytes.length, 0)

/** The int32 at a place. Throws if the place is outside the bytes. */
const int32 = (bytes: Buffer, at: number): number => {
  if (at + 4 > bytes.length) throw new DamagedBson('cut short', at)
  // This is faster than readInt32LE, which checks the bounds again.
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  )
}

/** The place after the document or array that begins at `at`. */
export const documentEnd = (bytes: Buffer, at: number): number => {
  const end = at + int32(bytes, at)
  if (end < at + 5 || bytes[end - 1] !== 0) throw new DamagedBson('bad document length', at)
  return end
}

/** The place after the C string that begins at `at`, including its zero byte. */
export const cstringEnd = (bytes: Buffer, at: number, limit: number): number => {
  let end = at
  while (end < limit && bytes[end] !== 0) end += 1
  if (end >= limit) throw new DamagedBson('name without an end', at)
  return end + 1
}

/** The place after the value of a type that begins at `at`. Throws if the value does not end before the limit. */
export const valueEnd = (bytes: Buffer, type: number, at: number, limit: number): number => {
  // Most values are strings. This part is separate, because it is small enough for V8 to inline.
  const end = at + (type === Bson.string ? 4 + stringSize(bytes, at) : valueSize(bytes, type, at, limit))
  if (end > limit) throw new DamagedBson('value without an end', at)
  return end
}

const valueSize = (bytes: Buffer, type: number, at: number, limit: number): number => {
  switch (type) {
    case Bson.code:
    case Bson.symbol:
      return 4 + stringSize(bytes, at)
    case Bson.document:
    case Bson.array:
      return documentEnd(bytes, at) - at
    case Bson.double:
    case Bson.date:
    case Bson.timestamp:
    case Bson.int64:
      return 8
    case Bson.int32:
      return 4
    case Bson.boolean:
      return 1
    case Bson.objectId:
      return 12
    case Bson.decimal128:
      return 16
    case Bson.null:
    case Bson.undefined:
    case Bson.minKey:
    case Bson.maxKey:
      return 0
    case Bson.binary:
      return 5 + sizeAtLeast(0, bytes, at)
    case Bson.regex:
      return cstringEnd(bytes, cstringEnd(bytes, at, limit), limit) - at
    case Bson.dbPointer:
      return 16 + stringSize(bytes, at)
    case Bson.codeWithScope:
      return sizeAtLeast(14, bytes, at)
    default:
      throw new DamagedBson(`unknown type ${type}`, at)
  }
}

const sizeAtLeast = (least: number, bytes: Buffer, at: number): number => {
  const size = int32(bytes, at)
  if (size < least) throw new DamagedBson('bad length', at)
  return size
}

/** The size of a string, including its closing zero byte. */
const stringSize = (bytes: Buffer, at: number): number => {
  const size = sizeAtLeast(1, bytes, at)
  if (bytes[at + 3 + size] !== 0) throw new DamagedBson('bad string length', at)
  return size
}

export interface Element {
  name: string
  type: number
  /** Where the value begins. */
  at: number
  next: number
}

/** The elements of a document or array. It creates an object for each of them, so it is too slow for frequent use. */
export function* elements(bytes: Buffer, start: number): Generator<Element> {
  const last = documentEnd(bytes, start) - 1
  let at = start + 4
  while (at < last) {
    const type = bytes[at] as number
    const value = cstringEnd(bytes, at + 1, last)
    const next = valueEnd(bytes, type, value, last)
    yield { name: bytes.toString('utf8', at + 1, value - 1), type, at: value, next }
    at = next
  }
}

/** Where the documents in an array begin, without an object for each. What is no document is left out. */
export const documentsIn = (bytes: Buffer, start: number): number[] => {
  const places: number[] = []
  const last = documentEnd(bytes, start) - 1
  for (let from = start + 4; from < last; ) {
    const at = cstringEnd(bytes, from + 1, last)
    if (bytes[from] === Bson.document) places.push(at)
    from = valueEnd(bytes, bytes[from] as number, at, last)
  }
  return places
}

/** A BSON document of elements, each given as the bytes of its type, name and value. */
export const bsonDocument = (elements: readonly Buffer[]): Buffer => {
  const head = Buffer.alloc(4)
  head.writeInt32LE(elements.reduce((size, element) => size + element.length, 5))
  return Buffer.concat([head, ...elements, Buffer.alloc(1)])
}
