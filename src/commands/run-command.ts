// What the commands of the project share: how they end. 0 is done, 1 is failed, 2 is called wrongly; what went wrong is
// said on standard error in words.
import { ConfigError } from '../config.js'
import { ORGANISATION_ID } from '../store/collections.js'
import { type Store, StoreUnavailable } from '../store/store.js'

export interface Command {
  readonly usage: string
  run(store: Store, argv: string[], terminal: Terminal): Promise<void>
}

/** Where a command writes: its result to `out`, all else to `err`. */
export interface Terminal {
  readonly out: NodeJS.WritableStream
  readonly err: NodeJS.WritableStream
}

/** The command was called wrongly. */
export class UsageError extends Error {}

/** The command could not do what it was called for, and the message says why. */
export class CommandError extends Error {}

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
    terminal.out.write(`${usage}\n`)
    return 0
  }
  try {
    const store = open()
    await run(store, argv, terminal).finally(() => store.close())
    return 0
  } catch (error) {
    const { message, stack, code } = error as NodeJS.ErrnoException
    if (error instanceof UsageError || String(code).startsWith('ERR_PARSE_ARGS')) {
      terminal.err.write(`${message}\n\n${usage}\n`)
      return 2
    }
    const isPlain = [CommandError, ConfigError].some((kind) => error instanceof kind)
    const outage = error instanceof StoreUnavailable && `${message}: ${(error.cause as Error).message}`
    terminal.err.write(`${outage || (isPlain ? message : stack)}\n`)
    return 1
  }
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
  err.write(`Note: the database has no organisation ${organisation} yet\n`)
}
