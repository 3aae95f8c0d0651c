// Questions and answers between the benchmark and the processes that it starts, over Node's own channel.
import type { ChildProcess } from 'node:child_process'

interface Question {
  id: number
  ask: string
  args: unknown
}

interface Answer {
  id: number
  result?: unknown
  error?: string
}

let questions = 0

/** Asks a child process, which must have said in `answerParent` that it answers this. */
export const askChild = <T>(child: ChildProcess, ask: string, args: unknown = {}): Promise<T> =>
  new Promise((resolve, reject) => {
    const question: Question = { id: ++questions, ask, args }
    const settle = (act: () => void) => {
      child.off('message', onMessage)
      child.off('exit', onExit)
      act()
    }
    const onExit = (code: number | null) =>
      settle(() => reject(new Error(`A process ended with code ${code} while it was asked for ${ask}`)))
    const onMessage = (message: unknown) => {
      const { id, result, error } = message as Answer
      if (id !== question.id) return
      settle(() => (error === undefined ? resolve(result as T) : reject(new Error(error))))
    }
    child.on('message', onMessage)
    child.on('exit', onExit)
    child.send(question)
  })

type Answers = Record<string, (args: never) => unknown>

const known: Answers = {}
/** What was asked before the module that answers it was loaded. */
let early: Question[] = []

const answer = async ({ id, ask, args }: Question): Promise<void> => {
  try {
    process.send?.({ id, result: await known[ask]?.(args as never) } satisfies Answer)
  } catch (error) {
    process.send?.({ id, error: String((error as Error).stack) } satisfies Answer)
  }
}

/** Answers what the parent asks for under these names. A process may call this more than once. */
export const answerParent = (answers: Answers): void => {
  if (Object.keys(known).length === 0) {
    process.on('message', (message) => {
      const question = message as Question
      if (question.ask in known) answer(question)
      else early.push(question)
    })
  }
  Object.assign(known, answers)
  const asked = early
  early = []
  for (const question of asked) {
    if (question.ask in known) answer(question)
    else early.push(question)
  }
}
