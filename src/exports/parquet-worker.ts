// The thread that writes the Parquet files of all exports. It takes its tasks in their order, and replies to all but `close`.
import { parentPort } from 'node:worker_threads'
import { type Description, ParquetEncoder } from './parquet-encoder.js'

/** A task of a file. The description comes with the first. */
export type Task = { readonly file: number; readonly description?: Description } & (
  | { readonly task: 'write'; readonly documents: ArrayBuffer }
  | { readonly task: 'end' | 'close' }
)

/** The bytes that can be sent, or what went wrong. */
export type Reply = { readonly bytes: ArrayBuffer } | { readonly error: unknown }

const port = parentPort as NonNullable<typeof parentPort>
/** The files that are open. One that has failed is not. */
const files = new Map<number, ParquetEncoder>()

/** The bytes that a task gives. A file stays open only after `write`. */
const perform = (task: Task): ArrayBuffer => {
  const { file, description } = task
  const encoder = description === undefined ? files.get(file) : new ParquetEncoder(description)
  files.delete(file)
  if (encoder === undefined) throw new Error('The Parquet file is closed')
  if (task.task !== 'write') return encoder.end()
  const bytes = encoder.write(task.documents)
  files.set(file, encoder)
  return bytes
}

port.on('message', (task: Task) => {
  if (task.task === 'close') {
    files.delete(task.file)
    return
  }
  try {
    const bytes = perform(task)
    port.postMessage({ bytes } satisfies Reply, [bytes])
  } catch (error) {
    port.postMessage({ error } satisfies Reply)
  }
})
