// A database that a test can kill and start again: a stand-in within this process, or the server that the script
// TEST_MONGODB_SERVER controls. Both keep their data when they are killed.
import { execFile } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { ownDatabase } from './store.js'
import { WireServer } from './wire-server.js'

export interface Database {
  /** Names a new database, which no other test uses. */
  readonly uri: string
  start(): Promise<void>
  /** Stops it at once, like a crash. */
  kill(): Promise<void>
  /** Makes queries exceed a time limit of a few milliseconds. */
  slowDown(): void
  /** What else can happen to a server, for some seconds. The stand-in has nothing of it. */
  readonly troubles: Readonly<Record<string, (seconds: number) => Promise<unknown>>>
}

const MAX_TIME_EXPIRED = 50

const standIn = async (t: Test): Promise<Database> => {
  const server = await WireServer.for(t)
  return {
    uri: server.uri,
    start: () => server.start(),
    kill: async () => server.stop(),
    slowDown: () => server.errors.set('aggregate', MAX_TIME_EXPIRED),
    troubles: {},
  }
}

const controlled = async (t: Test, script: string): Promise<Database> => {
  const control = (...argv: string[]) => promisify(execFile)(script, argv)
  const { stdout } = await control('uri')
  const uri = ownDatabase(t, stdout.trim())
  const start = async () => {
    await control('start')
  }
  const stopped = (how: 'freeze' | 'hang') => async (seconds: number) => {
    await control(how)
    await setTimeout(seconds * 1000)
    await control('thaw')
  }
  t.teardown(start)
  t.teardown(() => control('thaw'))
  await start()
  return {
    uri,
    start,
    kill: async () => {
      await control('kill')
    },
    slowDown: () => {}, // the server needs more than a few milliseconds anyway
    troubles: {
      frozen: stopped('freeze'),
      'there, but reading nothing': stopped('hang'),
      'ten times slower': (seconds) => control('slow', String(seconds)),
    },
  }
}

/** A running database without data. When the test ends, the stand-in stops and the server drops the data. */
export const testDatabase = (t: Test): Promise<Database> => {
  const script = process.env.TEST_MONGODB_SERVER
  return script === undefined ? standIn(t) : controlled(t, script)
}
