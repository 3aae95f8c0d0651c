// A database that a test may kill and start again: the stand-in in this process, or the server whose control script
// TEST_MONGODB_SERVER names. That server's data outlive it, as the stand-in's do.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { ownDatabase } from './store.js'
import { WireServer } from './wire-server.js'

export interface Database {
  /** Names a database of the test's own. */
  readonly uri: string
  start(): Promise<void>
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** Makes queries take longer than any timeout of a few milliseconds. */
  slowDown(): void
}

const MAX_TIME_EXPIRED = 50

const standIn = async (t: Test): Promise<Database> => {
  const server = await WireServer.for(t)
  return {
    uri: server.uri,
    start: () => server.start(),
    kill: async () => server.stop(),
    slowDown: () => server.errors.set('aggregate', MAX_TIME_EXPIRED),
  }
}

const controlled = async (t: Test, script: string): Promise<Database> => {
  const control = (command: string) => promisify(execFile)(script, [command])
  const { stdout } = await control('uri')
  const uri = ownDatabase(t, stdout.trim())
  const start = async () => {
    await control('start')
  }
  t.teardown(start)
  await start()
  return {
    uri,
    start,
    kill: async () => {
      await control('kill')
    },
    slowDown: () => {}, // it is slow enough
  }
}

/** A running database without data; it is stopped or forgotten when the test ends. */
export const testDatabase = (t: Test): Promise<Database> => {
  const script = process.env.TEST_MONGODB_SERVER
  return script === undefined ? standIn(t) : controlled(t, script)
}
