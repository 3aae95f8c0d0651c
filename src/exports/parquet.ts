// Parquet files for exports, on the side of the main thread. One worker writes the files of all exports: a group of rows takes
// 50 to 250 ms, which would stop all other requests.
import { Worker } from 'node:worker_threads'
import type { Shown } from '../serializer/writer.js'
import { fieldsOf } from './parquet-columns.js'
import type { Reply, Task } from './parquet-worker.js'

interface Waiting {
  resolve: (bytes: Buffer) => void
  reject: (error: unknown) => void
}

/** The worker, and who waits for its replies. It keeps the process alive only while someone waits. */
class ParquetThread {
  readonly #worker = new Worker(new URL('./parquet-worker.js', import.meta.url), {
    // There is room for a whole part, whose values are all gone once it is written: so few of them have to be moved.
    resourceLimits: { maxYoungGenerationSizeMb: 64 },
  })
  /** In the order of their tasks, which is that of the replies. */
  readonly #waiting: Waiting[] = []
  #fault: Error | undefined

  constructor() {
    this.#worker.unref()
    this.#worker.on('message', (reply: Reply) => {
      const waiting = this.#waiting.shift()
      if (this.#waiting.length === 0) this.#worker.unref()
      if ('bytes' in reply) waiting?.resolve(Buffer.from(reply.bytes))
      else waiting?.reject(reply.error)
    })
    this.#worker.on('error', (cause) => this.#fail(cause))
    this.#worker.on('exit', () => this.#fail())
  }

  get isDead(): boolean {
    return this.#fault !== undefined
  }

  /** Sends a task without a reply. */
  post(task: Task): void {
    this.#worker.postMessage(task)
  }

  ask(task: Task, transferred: readonly ArrayBuffer[] = []): Promise<Buffer> {
    if (this.#fault !== undefined) return Promise.reject(this.#fault)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#worker.ref()
      this.#worker.postMessage(task, transferred)
    })
  }

  #fail(cause?: unknown): void {
    this.#fault ??= new Error('The worker that writes Parquet files has ended', { cause })
    for (const { reject } of this.#waiting.splice(0)) reject(this.#fault)
  }
}

let current: ParquetThread | undefined
let files = 0

/** The thread of all files, which starts with the first. After its death another one starts. */
const thread = (): ParquetThread => {
  if (current === undefined || current.isDead) current = new ParquetThread()
  return current
}

/** A Parquet file whose bytes come part by part. After an error it is closed. */
export class ParquetFile {
  readonly #thread = thread()
  readonly #file = ++files

  /** @param shown the schema of a row. An object in it becomes columns, such as `location.state` */
  constructor({ schema, named }: Shown) {
    this.#thread.post({ file: this.#file, task: 'open', fields: fieldsOf(schema, named) })
  }

  /**
   * Adds rows. Returns the bytes that can be sent, which may be none.
   * @param lines the rows as lines of JSON. They are copied: what is transferred to the worker is gone here
   */
  write(lines: Buffer): Promise<Buffer> {
    const copy = new Uint8Array(lines)
    return this.#thread.ask({ file: this.#file, task: 'write', lines: copy.buffer }, [copy.buffer])
  }

  /** Returns the rest of the file. */
  end(): Promise<Buffer> {
    return this.#thread.ask({ file: this.#file, task: 'end' })
  }

  /** Drops what the worker holds of the file. It may be called at any time, and twice. */
  close(): void {
    this.#thread.post({ file: this.#file, task: 'close' })
  }
}
