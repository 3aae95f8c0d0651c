// Turns the bytes of a stored document into an object. Commands need this, because they look at documents one by one.
import { BSON } from 'mongodb'
import type { Stored } from './store.js'

/** The document, or the reason why the bytes cannot be read. Bytes that are not UTF-8 are replaced, as in responses. */
export const storedOf = (bytes: Uint8Array): Stored => {
  try {
    return { document: BSON.deserialize(bytes, { validation: { utf8: false } }) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}
