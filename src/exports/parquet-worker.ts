// The thread that writes the Parquet files of all exports. It takes its tasks in their order, and replies to `write` and `end`.
import { parentPort } from 'node:worker_threads'
import type { Field } from './parquet-columns.js'
import { ParquetEncoder } from './parquet-encoder.js'

export type Task = { readonly file: number } & (
  | { readonly task: 'open'; readonly fields: readonly Field[] }
  | { readonly task: 'write'; readonly lines: ArrayBuffer }
  | { readonly task: 'end' | 'close' }
)

/** The bytes that can be sent, or what went wrong. */
export type Reply = { readonly bytes: ArrayBuffer } | { readonly error: unknown }

const port = parentPort as NonNullable<typeof parentPort>
/** The files that are open. One that has failed is not. */
const files = new Map<number, ParquetEncoder>()

port.on('message', (task: Task) => {
  const { file } = task
  const encoder = files.get(file)
  if (task.task === 'open') files.set(file, new ParquetEncoder(task.fields))
  else if (task.task === 'close') files.delete(file)
  else {
    files.delete(file)
    try {
      if (encoder === undefined) throw new Error('The Parquet file is closed')
      const bytes = task.task === 'write' ? encoder.write(Buffer.from(task.lines)) : encoder.end()
      if (task.task === 'write') files.set(file, encoder)
      port.postMessage({ bytes } satisfies Reply, [bytes])
    } catch (error) {
      port.postMessage({ error } satisfies Reply)
    }
  }
})
