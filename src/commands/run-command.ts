// What the commands of the project share: the database of the environment, and how they end. 0 is done, 1 is failed, 2 is
// called wrongly; what went wrong is said on standard error in words.
import { ConfigError, loadConfig } from '../config.js'
import { openMongo } from '../open-mongo.js'
import { type Store, StoreUnavailable } from '../store/store.js'

/** The command was called wrongly. */
export class UsageError extends Error {}

/** The command could not do what it was called for, and the message says why. */
export class CommandError extends Error {}

/** Runs a command on the database that MONGODB_URI names, and sets the exit code of the process. */
export const runCommand = async (
  usage: string,
  command: (store: Store, argv: string[]) => Promise<void>,
): Promise<void> => {
  try {
    const argv = process.argv.slice(2)
    if (argv.includes('--help')) {
      console.log(usage)
      return
    }
    const store = openStore()
    try {
      await command(store, argv)
    } finally {
      await store.close()
    }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (error instanceof UsageError || String(code).startsWith('ERR_PARSE_ARGS')) {
      console.error(`${message}\n\n${usage}`)
      process.exitCode = 2
    } else {
      const isPlain = [CommandError, ConfigError, StoreUnavailable].some((kind) => error instanceof kind)
      console.error(isPlain ? message : error)
      process.exitCode = 1
    }
  }
}

const openStore = (): Store => {
  const { mongo } = loadConfig()
  if (mongo === undefined)
    throw new UsageError('MONGODB_URI is missing: the command works on the database that it names')
  return openMongo(mongo)
}

/** The value of an option that must be given. */
export const required = (name: string, value: string | undefined): string => {
  if (!value) throw new UsageError(`--${name} is missing`)
  return value
}
