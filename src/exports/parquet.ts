// Parquet files for exports, on the side of the main thread. One worker writes the files of all exports: a group of rows takes
// 50 to 250 ms, which would stop all other requests. What its columns are is a plain description, which is sent to the worker.
import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { TSchema } from '@sinclair/typebox'
import { annotationOf, storedBranches } from '../../schemas/kit.js'
import type { Column } from '../core/write/columns.js'
import type { FileWriter } from './exported.js'
import type { Opening, Reply, Task } from './parquet-worker.js'

interface Thread {
  readonly worker: Worker
  /** Aborted when the worker has ended. */
  readonly ended: AbortSignal
}

let current: Thread | undefined

/** The thread of all files, which starts with the first. After its death another one starts. */
const thread = (): Thread => {
  if (current?.ended.aborted === false) return current
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
  current = { worker, ended: ended.signal }
  return current
}

/** A Parquet file whose bytes come part by part, one at a time. */
export class ParquetFile implements FileWriter {
  readonly #thread = thread()
  readonly #port: MessagePort
  #isOpen = true

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
    if (reply instanceof ArrayBuffer) return Buffer.from(reply)
    this.close()
    throw reply
  }
}

export type Shape =
  | { readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'time' | 'json' }
  /** A single stored value is a list of one. */
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }

/** A column, or a field of an object. Its value may be missing. */
export interface Field {
  readonly name: string
  readonly shape: Shape
}

/** What columns are. `named` are the schemas that a `$ref` may name. */
export const shapesOf = (columns: readonly Column[], named: ReadonlyMap<string, TSchema>): Field[] =>
  columns.map(({ name, schema }) => ({ name, shape: shapeOf(schema, named) }))

const shapeOf = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Shape => {
  if (schema.$ref !== undefined) return shapeOf(named.get(schema.$ref) as TSchema, named)
  if (schema.anyOf !== undefined) return unionOf(storedBranches(schema).map((branch) => shapeOf(branch, named)))
  if (annotationOf(schema).listed) return { kind: 'list', item: { kind: 'text' } }
  if (annotationOf(schema).whole) return { kind: 'integer' }
  switch (schema.type) {
    case 'object': {
      const fields = Object.entries<TSchema>(schema.properties).map(([name, schema]) => ({ name, schema }))
      return { kind: 'object', fields: shapesOf(fields, named) }
    }
    case 'array':
      return { kind: 'list', item: shapeOf(schema.items, named) }
    case 'string':
      return { kind: schema.format === 'date-time' ? 'time' : 'text' }
    case 'number':
    case 'integer':
    case 'boolean':
      return { kind: schema.type }
    case undefined:
      return { kind: 'json' }
    default:
      throw new Error(`A Parquet file has no column for the schema type ${schema.type}`)
  }
}

/** A column has one type. So a union is of equal shapes, or of a shape and lists of it: then it is a list. */
const unionOf = (shapes: readonly Shape[]): Shape => {
  const items = shapes.map((shape) => (shape.kind === 'list' ? shape.item : shape))
  const kinds = new Set(items.map((item) => JSON.stringify(item)))
  if (kinds.size > 1) throw new Error(`A Parquet file has no column for a union of ${[...kinds].join(' and ')}`)
  return shapes.find(({ kind }) => kind === 'list') ?? (items[0] as Shape)
}
