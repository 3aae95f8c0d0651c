// Starts the project's programs as processes, with the given settings and no others.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Test } from 'tap'

export interface Started extends ChildProcess {
  /** Everything that it has printed so far. */
  output(): string
}

/** The compiled JavaScript of a source file; other arguments stay as they are. */
const compiled = (file: string): string => file.replace(/^(.*)\.ts$/, 'dist/$1.js')

/** Starts a program, named by its source file, and kills it at the end of the test. */
export const startProgram = (
  t: Test,
  file: string,
  {
    settings = {},
    argv = [],
    nodeOptions = [],
    openFiles,
    stdout,
    covered = false,
  }: {
    settings?: Record<string, string>
    argv?: string[]
    nodeOptions?: string[]
    /** The most files that it may open. */
    openFiles?: number
    /** A file that receives its standard output; without it output() returns what it prints. */
    stdout?: string
    /** Whether the program records coverage in a run that counts it. Then it needs twice the time to start. */
    covered?: boolean
  },
): Started => {
  const { MONGODB_URI, NODE_ENV, HOST, ...env } = process.env
  const command = [process.execPath, ...nodeOptions, compiled(file), ...argv]
  // Tap adds its own code to NODE_OPTIONS of every process that a test starts, whatever `env` says.
  if (!covered || process.env.COVERAGE !== 'true') command.unshift('env', '-u', 'NODE_OPTIONS')
  if (openFiles !== undefined) command.unshift('sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh')
  const target = stdout === undefined ? undefined : openSync(stdout, 'w')
  const child = spawn(command[0] as string, command.slice(1), {
    env: { ...env, ...settings },
    stdio: ['ignore', target ?? 'pipe', 'pipe'],
  })
  if (target !== undefined) closeSync(target)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk
    })
  }
  t.teardown(() => child.kill('SIGKILL'))
  return Object.assign(child, { output: () => output })
}

/**
 * A port that nothing listens on. It lies below those that the system gives to connections and to whoever asks for any port,
 * so that none of them takes it before the program of the test does.
 */
export const freePort = async (): Promise<number> => {
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return port
  } catch {
    return freePort()
  } finally {
    server.close()
  }
}

/** Whether a program has exited and everything was read that it has printed. */
const hasEnded = ({ exitCode, signalCode, stdout, stderr }: Started): boolean =>
  (exitCode ?? signalCode) !== null && [stdout, stderr].every((out) => !out || out.isPaused() || out.readableEnded)

/** Waits until a program has printed something. */
export const printed = async (child: Started, pattern: RegExp): Promise<RegExpExecArray> => {
  for (;;) {
    const isOver = hasEnded(child)
    const found = pattern.exec(child.output())
    if (found !== null) return found
    if (isOver) throw new Error(`It ended before it printed ${pattern}:\n${child.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Runs a program until it exits. */
export const runProgram = async (t: Test, file: string, options: Parameters<typeof startProgram>[2]) => {
  const child = startProgram(t, file, options)
  let stdout = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, output: child.output() }
}
