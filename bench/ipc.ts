// Calls from the benchmark to the processes that it starts, and their replies, over Node's own channel.
import type { ChildProcess } from 'node:child_process'

interface Call {
  id: number
  name: string
  args: unknown
}

interface Reply {
  id: number
  result?: unknown
  error?: string
}

let calls = 0

/** Calls a function of a child process, which must have registered it with `handleCalls`. */
export const callChild = <T>(child: ChildProcess, name: string, args: unknown = {}): Promise<T> =>
  new Promise((resolve, reject) => {
    const call: Call = { id: ++calls, name, args }
    const settle = (act: () => void) => {
      child.off('message', onMessage)
      child.off('exit', onExit)
      act()
    }
    const onExit = (code: number | null) =>
      settle(() => reject(new Error(`The process ended with code ${code} during the call ${name}`)))
    const onMessage = (message: unknown) => {
      const { id, result, error } = message as Reply
      if (id !== call.id) return
      settle(() => (error === undefined ? resolve(result as T) : reject(new Error(error))))
    }
    child.on('message', onMessage)
    child.on('exit', onExit)
    child.send(call)
  })

type Handlers = Record<string, (args: never) => unknown>

const handlers: Handlers = {}
/** Calls that arrived before their handler was registered. */
let early: Call[] = []

const handle = async ({ id, name, args }: Call): Promise<void> => {
  try {
    process.send?.({ id, result: await handlers[name]?.(args as never) } satisfies Reply)
  } catch (error) {
    process.send?.({ id, error: String((error as Error).stack) } satisfies Reply)
  }
}

const handleOrKeep = (call: Call): void => {
  if (call.name in handlers) handle(call)
  else early.push(call)
}

/** Registers functions that the parent process may call. A process may register more of them later. */
export const handleCalls = (added: Handlers): void => {
  if (Object.keys(handlers).length === 0) process.on('message', (message) => handleOrKeep(message as Call))
  Object.assign(handlers, added)
  const kept = early
  early = []
  for (const call of kept) handleOrKeep(call)
}
