// Parquet files for exports, on the side of the main thread. One worker writes the files of all exports: a group of rows takes
// 50 to 250 ms, which would stop all other requests.
import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { TSchema } from '@sinclair/typebox'
import type { Column } from '../serializer/columns.js'
import type { FileWriter } from './index.js'
import { shapesOf } from './parquet-columns.js'
import type { Opening, Reply, Task } from './parquet-worker.js'

interface Thread {
  readonly worker: Worker
  /** Aborted when the worker has ended. */
  readonly ended: AbortSignal
}

const startThread = (): Thread => {
  const worker = new Worker(new URL('./parquet-worker.js', import.meta.url), {
    // There is room for a whole part, whose values are all gone once it is written: so few of them have to be moved.
    resourceLimits: { maxYoungGenerationSizeMb: 64 },
  })
  const ended = new AbortController()
  const end = (cause?: unknown) => ended.abort(new Error('The worker that writes Parquet files has ended', { cause }))
  worker.on('error', end)
  worker.on('exit', () => end())
  // The ports of files keep the process alive while they wait for a reply.
  worker.unref()
  return { worker, ended: ended.signal }
}

let current: Thread | undefined

/** The thread of all files, which starts with the first. After its death another one starts. */
const thread = (): Thread => {
  if (current === undefined || current.ended.aborted) current = startThread()
  return current
}

/** A Parquet file whose bytes come part by part, one at a time. */
export class ParquetFile implements FileWriter {
  readonly #thread = thread()
  readonly #port: MessagePort
  #isOpen = true

  /** @param named the schemas that those of columns refer to */
  constructor(columns: readonly Column[], named: ReadonlyMap<string, TSchema>) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const opening: Opening = { columns: shapesOf(columns, named), port: port2 }
    this.#thread.worker.postMessage(opening, [port2])
  }

  /** @param lines the rows as lines of JSON. They are copied: what is transferred to the worker is gone here */
  write(lines: Buffer): Promise<Buffer> {
    const copy = new Uint8Array(lines)
    return this.#ask(copy.buffer, [copy.buffer])
  }

  async end(): Promise<Buffer> {
    const rest = await this.#ask('end')
    this.close()
    return rest
  }

  close(): void {
    this.#isOpen = false
    this.#port.postMessage('close' satisfies Task)
  }

  async #ask(task: Task, transferred: ArrayBuffer[] = []): Promise<Buffer> {
    if (!this.#isOpen) throw new Error('The Parquet file is closed')
    const { ended } = this.#thread
    const replied = once(this.#port, 'message', { signal: ended }).catch(() => {
      throw ended.reason
    })
    this.#port.postMessage(task, transferred)
    const [reply] = (await replied) as [Reply]
    if ('bytes' in reply) return Buffer.from(reply.bytes)
    this.close()
    throw reply.error
  }
}
