// Callers of the service that ask again and again, each over a connection of its own, with a pause between, and
// compare each body with the same one taken before.
import { setMaxListeners } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout } from 'node:timers/promises'

/** What is asked with keys that see the same. A path that is named twice is asked twice as often. */
export interface Asked {
  readonly keys: readonly string[]
  readonly paths: readonly string[]
}

/** One request. Times are in milliseconds. */
export interface Call {
  readonly path: string
  /** Undefined if the connection failed without a response. */
  readonly status: number | undefined
  readonly type?: string | undefined
  readonly retryAfter?: string | undefined
  /** The code of a problem. */
  readonly code?: string | undefined
  /** Why the connection failed. With a status, the response had begun and was broken off. */
  readonly error?: string | undefined
  /** The beginning of a body that is not as the reference. */
  readonly wrong?: string | undefined
  /** When it was first sent, by `performance.now()`, and how long it took with all its tries. */
  readonly at: number
  readonly took: number
  /** The errors of the tries before this one. */
  readonly retried: readonly string[]
}

export interface Options {
  readonly connections: number
  /** The pause of a connection after a response, on average. It differs, so that callers do not ask together. */
  readonly pauseMs: number
  /** How often a request is sent again whose connection failed. */
  readonly retries?: number
  /** After this long a request counts as hung, and fails. */
  readonly hungMs?: number
  /** Whether each request has a connection of its own. */
  readonly isNew?: boolean
  /** How long they wait before they read on after each chunk of a body. */
  readonly readPauseMs?: number
}

export const HUNG = 'it hung'
const RETRY_MS = 200
const SHOWN = 300
const OK = 200

/** What must be the same each time. Of a feed, the cursor is not. */
const constantPartOf = (path: string, body: string): string =>
  path.startsWith('/v1/sync/') ? body.slice(0, body.lastIndexOf('"_metadata"')) : body

const codeIn = (body: string): string | undefined => {
  try {
    return JSON.parse(body).code
  } catch {
    return undefined
  }
}

type Sent = Pick<Call, 'status' | 'type' | 'retryAfter' | 'error'> & { readonly body: string }

const send = (
  url: string,
  key: string,
  agent: Agent | undefined,
  { hungMs = 60_000, readPauseMs = 0 }: Partial<Options> = {},
): Promise<Sent> =>
  new Promise((resolve) => {
    let head: Omit<Sent, 'body'> = { status: undefined }
    let body = ''
    const fail = ({ message, name }: Error) =>
      resolve({ ...head, body, error: name === 'AbortError' ? HUNG : message || name })
    const signal = AbortSignal.timeout(hungMs)
    get(url, { ...(agent && { agent }), signal, headers: { authorization: `Bearer ${key}` } }, (response) => {
      const { statusCode: status, headers } = response
      head = { status, type: headers['content-type'], retryAfter: headers['retry-after'] }
      response
        .setEncoding('utf8')
        .on('data', (chunk) => {
          body += chunk
          if (readPauseMs === 0) return
          response.pause()
          setTimeout(readPauseMs).then(() => response.resume())
        })
        .on('end', () => resolve({ ...head, body }))
        .on('error', fail)
    }).on('error', fail)
  })

/** The right body of each path, for each of those who ask. */
export type References = ReadonlyMap<Asked, ReadonlyMap<string, string>>

/** Asks for each path once. Callers at other URLs get the same bodies if the services have the same PUBLIC_URL. */
export const takeReferences = async (url: string, asked: readonly Asked[]): Promise<References> => {
  const references = new Map<Asked, Map<string, string>>()
  for (const each of asked) {
    const bodies = new Map<string, string>()
    references.set(each, bodies)
    for (const path of new Set(each.paths)) {
      const { status, error, body } = await send(url + path, each.keys[0] as string, undefined)
      if (status !== OK || error !== undefined) throw new Error(`${path}: ${status} ${error ?? body.slice(0, SHOWN)}`)
      bodies.set(path, constantPartOf(path, body))
    }
  }
  return references
}

/** Whether a response has come whole and as it must be. */
export const isRight = ({ status, error, wrong }: Call): boolean =>
  status === OK && error === undefined && wrong === undefined

/** How often each text is in a list. */
export const countsOf = (texts: readonly string[]): string =>
  [...new Set(texts)].map((text) => `${texts.filter((other) => other === text).length} ${text}`).join(', ')

/** The callers of one load. */
export class Callers {
  /** All requests that have ended, in the order of their ends. */
  readonly calls: Call[] = []
  readonly #stopped = new AbortController()
  readonly #running: Promise<unknown>

  /** Starts them. They share the keys and the URLs evenly, and begin one after the other within a pause. */
  constructor(
    readonly urls: readonly string[],
    readonly asked: readonly Asked[],
    readonly references: References,
    readonly options: Options,
  ) {
    setMaxListeners(0, this.#stopped.signal)
    this.#running = Promise.all(Array.from({ length: options.connections }, (_, number) => this.#run(number)))
  }

  /** Waits until all requests have ended that were sent already. */
  async stop(): Promise<readonly Call[]> {
    this.#stopped.abort()
    await this.#running
    return this.calls
  }

  async #run(number: number): Promise<void> {
    const { urls, asked, options } = this
    const agent = new Agent({ keepAlive: !options.isNew, maxSockets: 1 })
    const { signal } = this.#stopped
    const pause = (ms: number) => setTimeout(ms, undefined, { signal }).catch(() => {})
    const groups = asked.flatMap((group) => group.keys.map((key) => ({ key, group })))
    const { key, group } = groups[number % groups.length] as (typeof groups)[number]
    const base = urls[Math.floor(number / groups.length) % urls.length] as string
    await pause(Math.random() * options.pauseMs)
    for (let n = number; !signal.aborted; n++) {
      const path = group.paths[n % group.paths.length] as string
      this.calls.push(await this.#ask(base, key, path, this.references.get(group)?.get(path), agent))
      await pause(options.pauseMs * (0.5 + Math.random()))
    }
    agent.destroy()
  }

  async #ask(base: string, key: string, path: string, right: string | undefined, agent: Agent): Promise<Call> {
    const { retries = 0 } = this.options
    const at = performance.now()
    const retried: string[] = []
    for (;;) {
      const { body, ...sent } = await send(base + path, key, agent, this.options)
      if (sent.error !== undefined && sent.error !== HUNG && retried.length < retries) {
        retried.push(sent.error)
        await setTimeout(RETRY_MS)
        continue
      }
      const isWhole = sent.error === undefined
      const isRight = constantPartOf(path, body) === right
      return {
        path,
        ...sent,
        ...(isWhole && sent.status !== OK && { code: codeIn(body) }),
        ...(isWhole && sent.status === OK && !isRight && { wrong: body.slice(0, SHOWN) }),
        at,
        took: performance.now() - at,
        retried,
      }
    }
  }
}
