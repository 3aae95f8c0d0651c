// What an operation finds, as data. A door sends it in its own way: src/core/door as responses, src/assistants as results of tools.
import type { BsonDocument } from '../bson/reader.js'
import type { OnFailure, RowFormat } from '../write/rows.js'
import { Skipped, type Unreadable } from '../write/unreadable.js'

/** What a caller asks: its parameters, checked, and the address that it asked at. */
export interface Asked<Q = object> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Q
  readonly url: string
  readonly base: () => string
}

interface Common {
  /** What the entity tag is made of. What the key does not see is added. Without it there is no tag. */
  readonly tag?: { readonly documents?: readonly BsonDocument[]; readonly values?: unknown }
  /** If it is not that of JSON. */
  readonly mediaType?: string
  readonly fileName?: string
  /** About how many bytes it becomes, unless they were charged when they were read. */
  readonly size?: number
}

/** Rows, in an object or by themselves. */
export interface RowsAnswer<R = BsonDocument> extends Common {
  readonly rows: readonly R[]
  readonly format: RowFormat<R>
  /** The members of the object before and behind the rows, and the name of the rows. Those behind are asked for last. */
  readonly envelope?: { readonly before: object; readonly name: string; readonly after: () => object }
  /** The records that are left out, if those that do not fit are. */
  readonly skipped?: Skipped | undefined
  /** What is done with a record that does not fit otherwise. By default it fails the whole. */
  readonly onFailure?: OnFailure<R & BsonDocument>
  readonly link?: string | undefined
}

export interface ValueAnswer<V = unknown> extends Common {
  readonly value: V
}

/** A file that is made while it is sent, part by part. */
export interface FileAnswer extends Common {
  /** Each part is made as a large task. */
  readonly parts: AsyncGenerator<Buffer, void>
  /** How many records were read so far, and how many bytes of them are held for the next part. */
  readonly read: { readonly rows: number; readonly ahead: number }
  /** Those of them that were left out. */
  readonly left: readonly Unreadable[]
}

// biome-ignore lint/suspicious/noExplicitAny: the format of an answer is that of its rows
export type Answer = RowsAnswer<any> | ValueAnswer | FileAnswer

/** A page of records with its metadata. With `unreadable=skip` it leaves out the records that do not fit, and names them. */
export const pageAnswer = <R extends BsonDocument>(
  rows: readonly R[],
  format: RowFormat<R>,
  metadata: object,
  unreadable: 'skip' | undefined,
): RowsAnswer<R> => {
  const skipped = unreadable === 'skip' ? new Skipped() : undefined
  const after = () => ({ _metadata: { ...metadata, ...(skipped && { unreadable: skipped.records }) } })
  return { rows, format, skipped, envelope: { before: { success: true }, name: 'data', after } }
}

export const fileNameOf = (name: string, format: string): string =>
  `${name}-${new Date().toISOString().slice(0, 10)}.${format}`
