// Reads lists of BSON documents.
import { BSON, type Document } from 'mongodb'
import type { BsonList } from '../../src/bson/reader.js'

/** The documents of a list, as objects. */
export const objectsOf = ({ batches }: BsonList, options: BSON.DeserializeOptions = {}): Document[] =>
  batches.flatMap((bytes) => Object.values<Document>(BSON.deserialize(bytes, options)))
