// A database that a test can kill and start again: a stand-in within this process, or the server that the script
// TEST_MONGODB_SERVER controls. Both keep their data when they are killed.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm, statfs } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { freePort } from '../../test/support/process.js'
import { ownDatabase } from '../../test/support/store.js'
import { WireServer } from '../../test/support/wire-server.js'

export interface Database {
  /** Names a new database, which no other test uses. */
  readonly uri: string
  start(): Promise<void>
  /** Stops it at once, like a crash. */
  kill(): Promise<void>
  /** Makes queries exceed a time limit of a few milliseconds. */
  slowDown(): void
}

const MAX_TIME_EXPIRED = 50
const DISK_MIB = 768
const LARGE = 100_000

const standIn = async (t: Test): Promise<Database> => {
  const server = await WireServer.for(t)
  return {
    uri: server.uri,
    start: () => server.start(),
    kill: async () => server.stop(),
    slowDown: () => server.errors.set('aggregate', MAX_TIME_EXPIRED),
  }
}

const control = (script: string, env: Readonly<Record<string, string>> = {}) => {
  const run = (...argv: string[]) => promisify(execFile)(script, argv, { env: { ...process.env, ...env } })
  const ended = (how: 'kill' | 'crash') => async (seconds: number) => {
    await run(how)
    await setTimeout(seconds * 1000)
    await run('start')
  }
  const stopped = (how: 'freeze' | 'hang') => async (seconds: number) => {
    await run(how)
    await setTimeout(seconds * 1000)
    await run('thaw')
  }
  return {
    run,
    troubles: {
      killed: ended('kill'),
      'without its storage': ended('crash'),
      frozen: stopped('freeze'),
      'there, but reading nothing': stopped('hang'),
      'ten times slower': (seconds: number) => run('slow', String(seconds)),
    },
  }
}

const controlled = async (t: Test, script: string): Promise<Database> => {
  const { run } = control(script)
  const { stdout } = await run('uri')
  const uri = ownDatabase(t, stdout.trim())
  const start = async () => {
    await run('start')
  }
  t.teardown(start)
  await start()
  return {
    uri,
    start,
    kill: async () => {
      await run('kill')
    },
    slowDown: () => {}, // the server needs more than a few milliseconds anyway
  }
}

/** Writes for some seconds, and returns how many writes were refused. */
const writeFor = async (uri: string, seconds: number): Promise<number> => {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 500, socketTimeoutMS: 5000 })
  const texts = client.db('filling').collection('texts')
  let refused = 0
  for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
    await texts.insertOne({ text: randomBytes(LARGE).toString('hex') }).catch(() => {
      refused += 1
    })
  }
  await client.close()
  return refused
}

/**
 * Another server like the one of the script TEST_MONGODB_SERVER, on a small disk, and what can happen to it for some seconds.
 * Both are gone when the test ends.
 */
export const serverInTrouble = async (t: Test) => {
  const script = process.env.TEST_MONGODB_SERVER as string
  const ports = { MCS_PORT: String(await freePort()), MCS_PG_PORT: String(await freePort()) }
  const home = (await control(script).run('copy')).stdout.trim()
  t.teardown(() => rm(home, { recursive: true }))
  const data = `${home}/root/var/lib/mcs`
  await mkdir(data)
  await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', data])
  t.teardown(() => promisify(execFile)('umount', [data]))
  const { run, troubles } = control(script, { MCS_HOME: home, ...ports })
  t.teardown(() => run('kill'))
  const { stdout } = await run('start')
  const uri = `${stdout.trim()}test`
  const full = async (seconds: number) => {
    const { bavail, bsize } = await statfs(data)
    await promisify(execFile)('fallocate', ['-l', String(bavail * bsize), `${data}/rest`])
    if ((await writeFor(uri, seconds)) === 0) throw new Error('The disk is not full')
    await rm(`${data}/rest`)
    // It may have ended.
    await run('start')
  }
  return { uri, troubles: { ...troubles, 'its disk full': full } }
}

/** A running database without data. When the test ends, the stand-in stops and the server drops the data. */
export const testDatabase = (t: Test): Promise<Database> => {
  const script = process.env.TEST_MONGODB_SERVER
  return script === undefined ? standIn(t) : controlled(t, script)
}
