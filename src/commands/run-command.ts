// What all commands share: how they are called, how output is written, and the exit codes, which cli.ts names.
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { ConfigError } from '../core/config/config.js'
import { redacted } from '../core/keys/format.js'
import { NotIssued } from '../core/keys/keys.js'
import { ChunkMoved, QueryTimeout, type Store, StoreUnavailable } from '../core/store/store.js'

export type MakeCommand = (session: Session) => CommandUnknownOpts

export interface Session extends Terminal {
  /** Opens the store, which is closed when the command ends. */
  open(): Store
  /** Gives a signal that aborts when the process is told to stop. It then does not end by itself. */
  stopped(): AbortSignal
  pause(ms: number): Promise<unknown>
  /** Writes a result: as indented JSON if --json was given, otherwise as lines, with others about it beside the result. */
  result(value: unknown, lines: readonly string[], about?: readonly string[]): void
  tell(...lines: readonly string[]): void
  /** Writes an audit line in the form of the service's log: who did what, after it was done. On a terminal it stands apart. */
  audit(action: string, by: string | undefined, details: object): void
  /** Asks for a line on the terminal, also if `err` is kept elsewhere. Fails if there is none, or if no line comes. */
  ask(question: string): Promise<string>
  /** Does long work, and shows on a terminal how many records it has counted. */
  counting<T>(work: (count: (more: number) => void) => Promise<T>): Promise<T>
}

/** The streams that a command writes to, through print(): its result to `out`, everything else to `err`. */
export interface Terminal {
  readonly input: () => NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly err: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/** Characters that control a terminal, end a line, or change the direction of text. */
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** Replaces each control character by its escape. JSON text stays equivalent JSON. */
export const visible = (text: string): string =>
  text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Writes lines. They may contain text from any source, so control characters are escaped. */
export const print = (stream: NodeJS.WritableStream, ...lines: readonly string[]): void => {
  stream.write(lines.map((line) => `${visible(line)}\n`).join(''))
}

/** Writes a line of a long output, and waits until the reader has taken it, so that lines do not gather in memory. */
export const printed = (stream: NodeJS.WritableStream, line: string) => written(stream, `${visible(line)}\n`)

/** Writes as it is, and waits until it and all before it has been taken, for example by a disk that may be full. */
const written = (stream: NodeJS.WritableStream, text: string): Promise<void> =>
  new Promise((done, fail) => {
    stream.write(text, (error) => (error ? fail(error) : done()))
  })

const ask = async ({ input, out, err }: Terminal, question: string): Promise<string> => {
  const stream = input()
  const output = [err, out].find(({ isTTY }) => isTTY)
  if (!stream.isTTY || output === undefined) throw new CommandError('There is no terminal to ask on: use --yes')
  const lines = createInterface({ input: stream, output, terminal: false })
  return new Promise<string>((resolve, reject) => {
    lines.once('close', () => reject(new CommandError('Nothing was typed')))
    lines.question(visible(question), resolve)
  }).finally(() => lines.close())
}

/** The command failed. The message says why; `more` holds further lines, such as what to do about it. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly more: readonly string[] = [],
  ) {
    super(message)
  }
}

/** A group of commands. Its help ends with an example and the details. */
export const newGroup = (name: string, description: string, example: string, details = ''): Command =>
  new Command(name)
    .description(description)
    .addHelpText('after', `\nExample:\n  $ npx ${PROGRAM} ${example}`)
    .addHelpText('after', details && `\n${details.trim()}`)

export const newCommand = (...about: Parameters<typeof newGroup>) =>
  newGroup(...about).option('--json', 'print the result as JSON')

export const PROGRAM = 'field-data-api'

const commandsIn = (root: CommandUnknownOpts): CommandUnknownOpts[] => [root, ...root.commands.flatMap(commandsIn)]

/** Gives the exit code. If the reader of the result goes early, as `head` does, it ends without a message. */
export const runCommand = async (
  make: MakeCommand,
  argv: readonly string[],
  open: () => Store,
  terminal: Terminal,
  stopped = stopSignal,
  pause: Session['pause'] = setTimeout,
): Promise<0 | 1 | 2> => {
  const { out, err } = terminal
  const outputFailed = new Promise<never>((_resolve, reject) => out.on('error', reject))
  outputFailed.catch(() => {})
  const tell: Session['tell'] = (...lines) => print(err, ...lines)
  let store: Store | undefined
  let isJson = false
  const command = make({
    ...terminal,
    stopped,
    pause,
    result(value, lines, about = []) {
      print(out, ...(isJson ? JSON.stringify(value, null, 2).split('\n') : lines))
      if (!isJson) tell(...about)
    },
    tell,
    ask: (question) => ask(terminal, question),
    async counting(work) {
      if (!err.isTTY) return work(() => {})
      let records = 0
      const show = (more: number) => {
        records += more
        err.write(`\rRecords ${records}`)
      }
      return work(show).finally(() => err.write('\n'))
    },
    audit(action, by, details) {
      const line = JSON.stringify({ level: 30, time: Date.now(), msg: 'audit', action, by, ...details })
      tell(...(err.isTTY ? ['', line] : [line]))
    },
    open() {
      store = open()
      return store
    },
  }).hook('preAction', (_command, called) => {
    isJson = called.opts().json === true
  })
  for (const each of commandsIn(command)) {
    const help = each.createHelp()
    const usage = help.commandUsage(each)
    each
      .exitOverride()
      .configureHelp({
        optionDescription: (option) => `${help.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
      })
      .configureOutput({
        writeOut: (text) => out.write(text),
        writeErr: (text) => err.write(text),
        outputError: (text) => tell(...usageError(text)),
      })
      .showHelpAfterError(`\nUsage: ${usage}\nHelp:  ${usage.split(' [')[0]} --help`)
  }
  try {
    const done = command
      .parseAsync(argv, { from: 'user' })
      .finally(() => store?.close())
      .catch((error) => {
        // Help was shown.
        if (!(error instanceof CommanderError && error.exitCode === 0)) throw error
      })
    await Promise.race([outputFailed, done.then(() => written(out, ''))])
    return 0
  } catch (error) {
    // Commander has written what is wrong with the call.
    if (error instanceof CommanderError) return 2
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') tell(...linesOf(error as Error))
    return 1
  }
}

const stopSignal = (): AbortSignal => {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.once(name, () => controller.abort())
  return controller.signal
}

/** The lines about a wrong call. A key may stand where something else is expected. */
const usageError = (text: string): string[] =>
  redacted(text)
    .replace(/^error: (.)/, (_start, first: string) => first.toUpperCase())
    .replace(/ is invalid( for argument '.*?')?\. /, ' is invalid$1: ')
    .replace(/\.?\n$/, '')
    .split(/\n(?=\(Did you mean .*\)$)/)

const linesOf = (error: Error): string[] => {
  if (error instanceof CommandError) return [error.message, ...error.more]
  if (error instanceof NotIssued || error instanceof ChunkMoved) return [error.message]
  if ((error as NodeJS.ErrnoException).syscall === 'write') return [`The result cannot be written: ${error.message}`]
  if (error instanceof QueryTimeout) return [`${error.message}: QUERY_TIMEOUT_MS allows more`]
  if (error instanceof StoreUnavailable) return [`${error.message}: ${(error.cause as Error).message}`]
  if (error.name.startsWith('Mongo')) return [`The database refuses this: ${error.message}`]
  // Any other error is a bug, so the stack is shown.
  return (error instanceof ConfigError ? error.message : String(error.stack)).split('\n')
}
