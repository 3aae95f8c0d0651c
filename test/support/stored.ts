// Builds BSON element by element, so that tests can use documents that no driver would write: a name twice, an obsolete
// type, a wrong length. It also writes them as JSON.
import type { TSchema } from '@sinclair/typebox'
import { BSON } from 'mongodb'
import { namedSchemas } from '../../schemas/index.js'
import { Bson, BsonDocument, BsonList } from '../../src/core/bson/reader.js'
import { jsonArray } from '../../src/core/write/json.js'
import { Output } from '../../src/core/write/output.js'
import { writeAll } from '../../src/core/write/rows.js'
import { compileDocuments } from '../../src/core/write/writer.js'

/** A value, given as its type and bytes. */
export class Raw {
  constructor(
    readonly type: number,
    readonly bytes: Buffer,
  ) {}
}

/** Elements in stored order. A value is a Raw, an array of them, or anything that the BSON library can store. */
export type Elements = readonly (readonly [name: string, value: unknown])[]

export const int32Bytes = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

const element = ([name, value]: Elements[number]): Buffer => {
  if (Array.isArray(value)) return element([name, stored.array(value)])
  if (!(value instanceof Raw)) return Buffer.from(BSON.serialize({ [name]: value }).subarray(4, -1))
  return Buffer.concat([Buffer.of(value.type), Buffer.from(`${name}\0`), value.bytes])
}

const bytesOf = (elements: Elements): Buffer => {
  const body = Buffer.concat(elements.map(element))
  return Buffer.concat([int32Bytes(body.length + 5), body, Buffer.of(0)])
}

const text = (bytes: Buffer): Buffer => Buffer.concat([int32Bytes(bytes.length + 1), bytes, Buffer.of(0)])

const eight = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(value)
  return bytes
}

export const stored = {
  document: (elements: Elements) => new Raw(Bson.document, bytesOf(elements)),
  array: (values: readonly unknown[]) =>
    new Raw(Bson.array, bytesOf(values.map((value, index) => [String(index), value]))),
  /** A string whose bytes may be invalid UTF-8. */
  string: (bytes: Uint8Array | readonly number[]) => new Raw(Bson.string, text(Buffer.from(bytes))),
  int64: (value: bigint) => new Raw(Bson.int64, eight(value)),
  date: (milliseconds: bigint) => new Raw(Bson.date, eight(milliseconds)),
  undefined: new Raw(Bson.undefined, Buffer.alloc(0)),
  minKey: new Raw(Bson.minKey, Buffer.alloc(0)),
  maxKey: new Raw(Bson.maxKey, Buffer.alloc(0)),
  symbol: new Raw(Bson.symbol, text(Buffer.from('symbol'))),
  dbPointer: new Raw(Bson.dbPointer, Buffer.concat([text(Buffer.from('a.b')), Buffer.alloc(12, 7)])),
}

/** A single document. */
export const documentOf = (elements: Elements, collection = 'things'): BsonDocument =>
  new BsonDocument(collection, bytesOf(elements))

export const listOf = (documents: readonly Elements[], collection = 'things'): BsonList =>
  new BsonList(collection, documents.map(bytesOf))

/** The elements of an object. */
export const plain = (object: object): Elements => Object.entries(object)

/** A writer for the documents of a schema that returns the bytes it wrote. */
export const writerOf = (schema: TSchema) => {
  const write = compileDocuments({ schema, named: namedSchemas })
  return {
    document(document: BsonDocument): Buffer {
      const out = new Output()
      write(document, out)
      return out.take()
    },
    list({ documents }: BsonList): Buffer {
      const out = new Output()
      for (const _ of writeAll(documents, jsonArray(write), out));
      return out.take()
    },
  }
}
