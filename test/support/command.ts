// Runs a command in this process, on a store that it does not close, and returns what it writes.
import { Readable, Writable } from 'node:stream'
import { type MakeCommand, runCommand } from '../../src/commands/run-command.js'
import type { Store } from '../../src/store/store.js'

/**
 * @param answer what somebody types on the terminal. Without it there is no terminal.
 * @param pause what happens while the command waits
 * @param signal tells the command to stop. The signals of this process are not for a command.
 */
export const tryCommand = async (
  command: MakeCommand,
  store: Store,
  argv: readonly string[],
  answer?: string,
  pause: (ms: number) => Promise<unknown> = async () => {},
  signal = new AbortController().signal,
) => {
  let stdout = ''
  let output = ''
  const out = new Writable({
    write(chunk, _encoding, done) {
      stdout += chunk
      output += chunk
      done()
    },
  })
  const isTTY = answer !== undefined
  const sink = new Writable({
    write(chunk, _encoding, done) {
      output += chunk
      done()
    },
  })
  const err = Object.assign(sink, { isTTY })
  const input = () => Object.assign(Readable.from([answer]), { isTTY })
  const open = () => ({ ...store, close: async () => {} })
  const code = await runCommand(command, argv, open, { input, out, err }, () => signal, pause)
  return { code, stdout, output }
}
