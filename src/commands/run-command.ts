// What all commands share: how arguments are read, how output is written, and the exit codes. A command exits with 0 when
// it is done, 1 when it failed and 2 when it was called wrongly. Error messages go to standard error.
import { parseArgs } from 'node:util'
import { ConfigError } from '../config/config.js'
import { ORGANISATION_ID } from '../documents/collections.js'
import { redacted } from '../keys/format.js'
import { type Store, StoreUnavailable } from '../store/store.js'

export interface Command {
  /** Printed by --help, and below the error when the command was called wrongly. */
  readonly usage: string
  /** Printed by --help only, below the usage. */
  readonly details?: string
  run(store: Store, argv: string[], terminal: Terminal): Promise<void>
}

/** The streams that a command writes to, through print(): its result to `out`, everything else to `err`. */
export interface Terminal {
  readonly out: NodeJS.WritableStream
  readonly err: NodeJS.WritableStream
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
export const printed = (stream: NodeJS.WritableStream, line: string): Promise<void> =>
  new Promise((done, fail) => {
    stream.write(`${visible(line)}\n`, (error) => (error ? fail(error) : done()))
  })

/** Writes a result: as indented JSON if --json was given, otherwise as lines. */
export const printResult = (
  out: NodeJS.WritableStream,
  json: boolean,
  value: unknown,
  lines: readonly string[],
): void => {
  print(out, ...(json ? JSON.stringify(value, null, 2).split('\n') : lines))
}

/** The command was called wrongly. */
export class UsageError extends Error {}

/** The command failed. The message says why; `more` holds further lines, such as what to do about it. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly more: readonly string[] = [],
  ) {
    super(message)
  }
}

/**
 * Opens the store, runs the command on it and closes it. If the reader of the result goes early, as `head` does, the command
 * ends without a message.
 * @returns the exit code
 */
export const runCommand = async (
  { usage, details, run }: Command,
  argv: string[],
  open: () => Store,
  terminal: Terminal,
): Promise<0 | 1 | 2> => {
  const outputFailed = new Promise<never>((_resolve, reject) => {
    terminal.out.on('error', reject)
  })
  outputFailed.catch(() => {})
  if (argv.includes('--help')) {
    print(terminal.out, ...usage.split('\n'), ...(details === undefined ? [] : ['', ...details.split('\n')]))
    return 0
  }
  try {
    const store = open()
    await Promise.race([outputFailed, run(store, argv, terminal).finally(() => store.close())])
    return 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 1
    const message = usageErrorMessage(error as Error)
    if (message !== undefined) {
      print(terminal.err, message, '', ...usage.split('\n'))
      return 2
    }
    print(terminal.err, ...linesOf(error as Error))
    return 1
  }
}

/** The message, if the command was called wrongly. Messages of Node's parseArgs may have several lines. */
const usageErrorMessage = (error: NodeJS.ErrnoException): string | undefined => {
  if (error instanceof UsageError) return error.message
  return String(error.code).startsWith('ERR_PARSE_ARGS') ? error.message.replaceAll('\n', ' ') : undefined
}

const linesOf = (error: Error): string[] => {
  if (error instanceof CommandError) return [error.message, ...error.more]
  if (error instanceof StoreUnavailable) return [`${error.message}: ${(error.cause as Error).message}`]
  // Any other error is a bug, so the stack is shown.
  return (error instanceof ConfigError ? error.message : String(error.stack)).split('\n')
}

/** The syntax of one action of a command, such as `keys revoke KEYID`. Every action also has --json. */
interface Action {
  /** The name of the action's argument, if it has one. */
  readonly argument?: string
  readonly options: readonly string[]
}

interface ParsedAction<Name, Option extends string> {
  action: Name
  /** Empty if the action has no argument. */
  argument: string
  values: Partial<Record<Option, string>>
  json: boolean
}

/** Reads the arguments of a command that has several actions. */
export const parseAction = <const A extends Readonly<Record<string, Action>>>(
  argv: string[],
  actions: A,
): ParsedAction<keyof A, A[keyof A]['options'][number]> => {
  const names = Object.values(actions).flatMap(({ options }) => options)
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])), json: { type: 'boolean' } },
  })
  const { json = false, ...given } = values
  const [action, ...rest] = positionals
  const allowed = Object.keys(actions).join(', ')
  if (action === undefined) throw new UsageError(`The action is missing: it must be one of ${allowed}`)
  const syntax = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (syntax === undefined) throw new UsageError(`Unknown action ${redacted(action)}: it must be one of ${allowed}`)
  const wrongOption = Object.keys(given).find((name) => !syntax.options.includes(name))
  if (wrongOption !== undefined) throw new UsageError(`${action} has no option --${wrongOption}`)
  const argument = syntax.argument === undefined ? '' : rest.shift()
  if (!argument && syntax.argument !== undefined) throw new UsageError(`${syntax.argument} is missing`)
  if (rest[0] !== undefined) throw new UsageError(`Unexpected argument ${redacted(rest[0])}`)
  return { action, argument, values: given, json } as ParsedAction<keyof A, A[keyof A]['options'][number]>
}

/** The value of a required option. */
export const required = (option: string, value: string | undefined): string => {
  if (!value) throw new UsageError(`--${option} is missing`)
  return value
}

/** The value of an option that holds the id of an organisation. */
export const organisationId = (option: string, value: string): string => {
  if (ORGANISATION_ID.test(value)) return value
  throw new UsageError(
    `--${option} must be 1 to 100 letters, digits, dots, underscores, colons and dashes, starting with a letter or digit`,
  )
}

/** No control or formatting characters and no line separators, and not only spaces. */
const NAME = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u

/** The value of --name. */
export const nameOf = (value: string | undefined): string => {
  const name = required('name', value)
  if (NAME.test(name)) return name
  throw new UsageError('--name must be 1 to 100 characters without control characters, and not only spaces')
}

/** Fails unless the organisation exists: a mistyped id would otherwise get keys or records that nobody can find. */
export const requireOrganisation = async (store: Store, organisation: string): Promise<void> => {
  if ((await store.dangerouslyFind('organisations', organisation)) !== undefined) return
  throw new CommandError(`Organisation ${organisation} does not exist`, [
    `Add it with: npm run organisations -- add --id ${organisation} --name NAME`,
    'List those that exist with: npm run organisations -- list',
  ])
}
