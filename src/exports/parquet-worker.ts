// The thread that writes the Parquet files of all exports. Each file has a port of its own, and each task but `close` a reply.
import { type MessagePort, parentPort } from 'node:worker_threads'
import type { Field } from './parquet.js'
import { ParquetEncoder } from './parquet-encoder.js'

export interface Opening {
  readonly columns: readonly Field[]
  readonly port: MessagePort
}

/** Lines of JSON to write, or what comes behind them. */
export type Task = ArrayBuffer | 'end' | 'close'

export type Reply = ArrayBuffer | Error

parentPort?.on('message', ({ columns, port }: Opening) => {
  const encoder = new ParquetEncoder(columns)
  port.on('message', (task: Task) => {
    if (task === 'close') return port.close()
    try {
      const bytes = task === 'end' ? encoder.end() : encoder.write(Buffer.from(task))
      port.postMessage(bytes satisfies Reply, [bytes])
    } catch (error) {
      port.postMessage(error as Reply)
    }
  })
})
