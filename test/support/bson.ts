// Reads lists of BSON documents.
import { BSON, type Document } from 'mongodb'
import type { BsonList } from '../../src/core/bson/reader.js'

/** The documents of a list, as objects. */
export const objectsOf = ({ documents }: BsonList, options: BSON.DeserializeOptions = {}): Document[] =>
  documents.map(({ bytes }) => BSON.deserialize(bytes, options))
