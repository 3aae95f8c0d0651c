// What the commands of the project share: how they end. 0 is done, 1 is failed, 2 is called wrongly; what went wrong is
// said on standard error in words.
import { ConfigError } from '../config/config.js'
import { ORGANISATION_ID } from '../documents/collections.js'
import { type Store, StoreUnavailable } from '../store/store.js'

export interface Command {
  readonly usage: string
  run(store: Store, argv: string[], terminal: Terminal): Promise<void>
}

/** Where a command writes, with print(): its result to `out`, all else to `err`. */
export interface Terminal {
  readonly out: NodeJS.WritableStream
  readonly err: NodeJS.WritableStream
}

/** What a terminal takes for an order, or for the end of a line, or what has it show text in another order. */
const COMMANDING = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** The text with an escape in the place of each such character; of JSON it is the same JSON. */
export const visible = (text: string): string =>
  text.replace(COMMANDING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Writes lines. What stands in them may come from anywhere. */
export const print = (stream: NodeJS.WritableStream, ...lines: readonly string[]): void => {
  stream.write(lines.map((line) => `${visible(line)}\n`).join(''))
}

/** The command was called wrongly. */
export class UsageError extends Error {}

/** The command could not do what it was called for, and the message says why; more lines may say what to do. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly more: readonly string[] = [],
  ) {
    super(message)
  }
}

/**
 * Runs a command on the store that `open` gives, and closes it.
 * @returns the exit code
 */
export const runCommand = async (
  { usage, run }: Command,
  argv: string[],
  open: () => Store,
  terminal: Terminal,
): Promise<0 | 1 | 2> => {
  if (argv.includes('--help')) {
    print(terminal.out, ...usage.split('\n'))
    return 0
  }
  try {
    const store = open()
    await run(store, argv, terminal).finally(() => store.close())
    return 0
  } catch (error) {
    const wrongCall = wrongCallOf(error as Error)
    if (wrongCall !== undefined) {
      print(terminal.err, wrongCall, '', ...usage.split('\n'))
      return 2
    }
    print(terminal.err, ...linesOf(error as Error))
    return 1
  }
}

/** What was wrong with the call, if that is the error. Node's words for it may be several lines. */
const wrongCallOf = (error: NodeJS.ErrnoException): string | undefined => {
  if (error instanceof UsageError) return error.message
  return String(error.code).startsWith('ERR_PARSE_ARGS') ? error.message.replaceAll('\n', ' ') : undefined
}

const linesOf = (error: Error): string[] => {
  if (error instanceof CommandError) return [error.message, ...error.more]
  if (error instanceof StoreUnavailable) return [`${error.message}: ${(error.cause as Error).message}`]
  // Of a fault of the program the stack is shown.
  return (error instanceof ConfigError ? error.message : String(error.stack)).split('\n')
}

/** The value of an option that must be given. */
export const required = (name: string, value: string | undefined): string => {
  if (!value) throw new UsageError(`--${name} is missing`)
  return value
}

/** The value of --organisation, which must look like an identifier of one. */
export const organisationId = (value: string): string => {
  if (ORGANISATION_ID.test(value)) return value
  throw new UsageError(
    '--organisation must be 1 to 100 letters, digits, dots, underscores, colons and dashes, the first a letter or digit',
  )
}

/** Says when the organisation that a command wrote for is not in the database: it may come later, or be a slip. */
export const noteUnknownOrganisation = async (
  store: Store,
  organisation: string,
  err: Terminal['err'],
): Promise<void> => {
  if ((await store.dangerouslyFind('organisations', organisation)) !== undefined) return
  print(err, `Note: the database has no organisation ${organisation} yet`)
}
