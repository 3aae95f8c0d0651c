// Why stored documents cannot become a response.
import { DamagedBson } from '../bson/reader.js'

/** The maximum size of a response, and of the documents that it is made of. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

export class ResponseTooLarge extends Error {
  constructor() {
    super(`A response is larger than ${MAX_RESPONSE_BYTES} bytes`)
    this.name = 'ResponseTooLarge'
  }
}

/** A document does not fit its response schema. This is an error of the server, so the caller gets a 500. */
export class UnreadableDocument extends Error {
  constructor(
    readonly collection: string,
    readonly id: string,
    /** The dotted path of stored names to the value; empty for the document itself. */
    readonly field: string,
    private readonly reason: string,
  ) {
    super()
    this.message = `${collection} ${id}: ${this.detail}`
    this.name = 'UnreadableDocument'
  }

  get detail(): string {
    return `${this.field === '' ? 'the document' : this.field} ${this.reason}`
  }
}

/** A document fits its schema, but not the format of a file, which the caller chose. So the caller gets a 400. */
export class UnfitForFormat extends Error {}

/** Runs a function that reads bytes of a collection, and turns DamagedBson into an UnreadableDocument. */
export const withBsonErrors = <T>(collection: string, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    throw unreadable(collection, error)
  }
}

/** The error of bytes of a collection that cannot be read, or any other error as it is. */
export const unreadable = (collection: string, error: unknown): unknown =>
  error instanceof DamagedBson ? new UnreadableDocument(collection, '?', '', `cannot be read: ${error.message}`) : error
