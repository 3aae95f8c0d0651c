// The thread in which jobs run, one batch after the other. Each job has a port of its own, and each task but `close` a reply.
import { constants, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { giveBack } from '../write/output.js'
import { documentsOf, type Job, type Made, type Thrown, thrown } from './job.js'

export interface Opening {
  /** The module of the job, which exports `open`. */
  readonly module: string
  readonly options: unknown
  readonly port: MessagePort
}

/** A batch of documents, or what comes behind them. */
export type Task = ArrayBuffer | 'end' | 'close'

export type Reply = (Made & { readonly held: number }) | Thrown

// On Linux this is the priority of this thread alone.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

// Modules are imported before their first jobs ask for them.
for (const module of workerData as readonly string[]) import(module)

parentPort?.on('message', async ({ module, options, port }: Opening) => {
  const { open } = (await import(module)) as { open: (options: unknown) => Job }
  let job: Job | undefined
  port.on('message', (task: Task) => {
    if (task === 'close') return port.close()
    try {
      job ??= open(options)
      const { bytes, told } = task === 'end' ? job.end() : job.add(documentsOf(task))
      // What is transferred is gone here, and a small buffer is a part of one that others use.
      const own = bytes && new Uint8Array(bytes)
      if (bytes) giveBack(bytes)
      port.postMessage({ bytes: own, told, held: job.held } satisfies Reply, own ? [own.buffer] : [])
    } catch (error) {
      port.postMessage(thrown(error as Error) satisfies Reply)
    }
  })
})
