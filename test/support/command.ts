// Runs a command in this process, on a store that it does not close, and returns what it writes.
import { Writable } from 'node:stream'
import { type MakeCommand, runCommand } from '../../src/commands/run-command.js'
import type { Store } from '../../src/store/store.js'

export const tryCommand = async (command: MakeCommand, store: Store, argv: readonly string[]) => {
  let stdout = ''
  let output = ''
  const out = new Writable({
    write(chunk, _encoding, done) {
      stdout += chunk
      output += chunk
      done()
    },
  })
  const err = new Writable({
    write(chunk, _encoding, done) {
      output += chunk
      done()
    },
  })
  const open = () => ({ ...store, close: async () => {} })
  // The signals of this process are not for a command.
  const stopped = () => new AbortController().signal
  const code = await runCommand(command, argv, open, { out, err }, stopped)
  return { code, stdout, output }
}
