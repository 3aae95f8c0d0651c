// Runs the load command on files of one organisation, which exists.
import type { Test } from 'tap'
import { loadCommand } from '../../src/commands/load.js'
import { tryCommand } from './command.js'
import { testStore } from './store.js'
import { a } from './tenants.js'

export const { organisation, ...entry } = a.entry(1)

/** An entry as a line of a file. */
export const line = (changes: object = {}): string => JSON.stringify({ ...entry, ...changes })

export const intoEntries = ['--collection', 'entries', '--organisation', organisation]

export const fileWith = (t: Test, text: string | Buffer): string => `${t.testdir({ 'file.ndjson': text })}/file.ndjson`

/** A store with the organisation and nothing else, and the command that loads a text into it. */
export const prepareLoad = async (t: Test) => {
  const store = testStore(t)
  const now = new Date()
  await store.insert('organisations', [{ _id: organisation, name: 'Organisation', createdAt: now, updatedAt: now }])
  const load = (text: string | Buffer, ...argv: string[]) =>
    tryCommand(loadCommand, store, [fileWith(t, text), ...argv])
  return { load, store }
}
