// Computes in a worker, so that the event loop stays free. One does all jobs: on few cores more would make the loop late.
import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { BsonDocument } from '../bson/reader.js'
import { Overloaded } from '../limits/scheduler.js'
import { problem, RETRY_LATER } from '../problems/problems.js'
import { batchOf, errorOf, type Made } from './job.js'
import type { Opening, Reply, Task } from './worker.js'

/** How long a worker may be silent, in milliseconds. A batch takes tenths of a second, or longer on a busy processor. */
const SILENT_MS = 60_000
/** While all jobs hold more bytes than this, no other one begins. */
const MOST_HELD = 512 * 1024 * 1024

const modules: string[] = []
/** The worker, and a signal that is aborted when it has ended. */
let current: { readonly worker: Worker; readonly ended: AbortSignal } | undefined
let held = 0
let tell: ((err: unknown) => void) | undefined

/** Starts the worker, unless it runs. After its death another one starts. */
const thread = () => {
  if (current?.ended.aborted === false) return current
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: modules,
    // There is room for a whole batch, whose values are all gone once it is done: so few of them have to be moved.
    resourceLimits: { maxYoungGenerationSizeMb: 32 },
  })
  const ended = new AbortController()
  const end = (err: unknown) => {
    if (!ended.signal.aborted) tell?.(err)
    ended.abort()
  }
  worker.on('error', end)
  worker.on('exit', () => end(new Error('The worker has ended')))
  // The ports of jobs keep the process alive while they wait for a reply.
  worker.unref()
  current = { worker, ended: ended.signal }
  return current
}

/** Starts the worker with the service. @param onEnd is told when a worker ends */
export const startWorker = (onEnd: (err: unknown) => void): void => {
  tell = onEnd
  thread()
}

/** A job in the worker, which does one batch at a time. */
export class Work {
  readonly #thread = thread()
  readonly #port: MessagePort
  #isOpen = true
  #held = 0

  /** @throws Overloaded if the jobs that run hold too much memory */
  constructor(
    module: string,
    options: unknown,
    readonly silentMs = SILENT_MS,
  ) {
    if (held > MOST_HELD) throw new Overloaded('Too much is computed at the moment')
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#thread.worker.postMessage({ module, options, port: port2 } satisfies Opening, [port2])
  }

  add(rows: readonly BsonDocument[]): Promise<Made> {
    const batch = batchOf(rows)
    return this.#ask(batch, [batch])
  }

  end(): Promise<Made> {
    return this.#ask('end').finally(() => this.close())
  }

  /** Ends the job after the batch at hand. It may be called at any time, and twice. */
  close(): void {
    this.#isOpen = false
    this.#hold(0)
    this.#port.postMessage('close' satisfies Task)
  }

  #hold(bytes: number): void {
    held += bytes - this.#held
    this.#held = bytes
  }

  async #ask(task: Task, transferred: ArrayBuffer[] = []): Promise<Made> {
    if (!this.#isOpen) throw new Error('The job is closed')
    const { worker, ended } = this.#thread
    const replied = once(this.#port, 'message', { signal: ended }).catch(() => {
      this.close()
      throw problem('overloaded', 'What computes this took too long or failed', { headers: RETRY_LATER })
    })
    this.#port.postMessage(task, transferred)
    let isSilent = true
    // After a pause of the whole process, a reply may be there already.
    const end = () => setImmediate(() => isSilent && worker.terminate())
    const silent = setTimeout(end, this.silentMs)
    const [reply] = (await replied.finally(() => {
      isSilent = false
      clearTimeout(silent)
    })) as [Reply]
    if ('error' in reply) {
      this.close()
      throw errorOf(reply)
    }
    if (this.#isOpen) this.#hold(reply.held)
    return reply
  }
}

/** Opens jobs of a module, which exports `open`. It is named when the service starts, so that the worker knows it before. */
export const jobsOf = <O>(module: URL): ((options: O) => Work) => {
  modules.push(String(module))
  return (options) => new Work(String(module), options)
}
