// A reader who runs the fenced commands of a page with a terminal.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { assistant } from '../../test/support/mcp.js'
import { freePort } from '../../test/support/process.js'
import { ownDatabase } from '../../test/support/store.js'

const server = process.env.TEST_MONGODB_URI
const REPOSITORY = process.cwd()
export const DEMO_KEY = 'fda_bRqfAWGcrTFs_kJCVgb0Tp3a1G3BmW1AqUoJR23YaFeCIj1xisfx'
/** The address that the pages name. */
const SERVICE = 'http://127.0.0.1:3000'

/** Commands that run until they are interrupted, and what they print when they are ready. */
const LASTING: readonly (readonly [command: RegExp, ready: RegExp])[] = [
  [/(npm start|field-data-api serve)$/, /^field-data-api on .*\n(?: {2}.*\n)+\n/m],
  [/ --live \S+$/, /^fda_/m],
]

/** Whether the last command of a block runs until it is interrupted. */
export const goesOn = (text: string): boolean => LASTING.some(([command]) => command.test(text))

/** The longest time that a command may take, and that one that lasts may go on. */
const LONGEST_MS = 100_000

/** A reader's shell has these variables, and none of those that npm and tap add for the tests. */
export const { PATH = '', HOME = '' } = process.env
const ENV = {
  PATH,
  HOME,
  LANG: 'C.UTF-8',
  npm_config_offline: 'true',
  npm_config_loglevel: 'error',
  npm_config_update_notifier: 'false',
}

export interface Program {
  /** What it has printed so far: the lines for people and those for programs, and the latter alone. */
  readonly output: () => string
  readonly stdout: () => string
  /** The exit code, when it has ended and all that it printed was read. */
  readonly code: Promise<number>
  signal(name: 'SIGINT' | 'SIGKILL'): void
}

const start = (t: Test, script: string, cwd: string, env: Record<string, string> = {}): Program => {
  // Tap adds its own code to NODE_OPTIONS of every process that a test starts, whatever `env` says. A group of its own can be
  // interrupted as a terminal does it.
  const argv = ['-u', 'NODE_OPTIONS', 'bash', '-e', '-u', '-o', 'pipefail', '-c', script]
  const child = spawn('env', argv, {
    cwd,
    env: { ...ENV, CURL_HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let stdout = ''
  let output = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  let hasEnded = false
  const code = once(child, 'close').then(([code]) => {
    hasEnded = true
    return code ?? 1
  })
  const signal = (name: 'SIGINT' | 'SIGKILL') => {
    try {
      if (!hasEnded) process.kill(-Number(child.pid), name)
    } catch {} // it has ended just now
  }
  t.teardown(() => signal('SIGKILL'))
  setTimeout(LONGEST_MS, undefined, { ref: false }).then(() => signal('SIGKILL'))
  return { output: () => output, stdout: () => stdout, code, signal }
}

const until = async ({ output, code }: Program, ready: RegExp): Promise<void> => {
  let hasEnded = false
  code.then(() => {
    hasEnded = true
  })
  while (!ready.test(output())) {
    if (hasEnded) throw new Error(`It ended before it was ready:\n${output()}`)
    await setTimeout(20)
  }
}

interface Service extends Program {
  readonly port: number
}

/** Services with demo data, by the command that starts them. They only read, so that all pages use them. */
const services = new Map<string, Promise<Service>>()

/** The test of all pages. Pages share a service, which needs the folder in which it was started. */
const whole = t

/** A reader who follows a page with a terminal, in a folder like a clone in which everything is compiled. */
export class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'reader-'))
  /** What it has started and must interrupt, besides services. */
  readonly lasting = new Set<Program>()
  #service: Promise<Service> | undefined
  /** What the page calls the databases, and what they are called here. */
  readonly #databases = new Map<string, string>()
  /** How many terminals are open. A command that lasts keeps its terminal, so that the next one needs another. */
  #terminals = 1

  constructor(readonly t: Test) {
    // No folder scripts/, so that the command line compiles nothing.
    writeFileSync(join(this.folder, '.curlrc'), 'silent\nshow-error\nfail-with-body\n')
    for (const name of ['package.json', 'bin', 'examples']) cpSync(name, join(this.folder, name), { recursive: true })
    symlinkSync(join(REPOSITORY, 'dist'), join(this.folder, 'dist'))
    whole.teardown(() => rmSync(this.folder, { recursive: true, force: true }))
  }

  /** The address of the service that was started last, or of one with demo data. */
  async url(): Promise<string> {
    this.#service ??= this.#shared('npm start')
    return `http://127.0.0.1:${(await this.#service).port}`
  }

  /** Runs the commands of a block until they end, or are ready if they last. Those that last go on until the page ends. */
  async run(text: string): Promise<Program> {
    const [, ready] = LASTING.find(([command]) => command.test(text)) ?? []
    const isService = ready === LASTING[0]?.[1]
    const script = text
      .replace(/mongodb:\/\/127\.0\.0\.1:27017\/[\w-]+/g, (uri) => this.#database(uri))
      // Packages are there already. .ci/run begins with it.
      .replace(/\bnpm ci\b/g, 'true')
    const terminal = join(this.folder, `.terminal-${this.#terminals}`)
    const before = existsSync(terminal) ? `. ${terminal}\n` : ''
    if (ready) this.#terminals += 1
    if (isService) {
      const isShared = before === '' && !text.includes('MONGODB_URI')
      this.#service = isShared ? this.#shared(script) : this.#serve(this.t, before + script)
      return this.#service
    }
    const after = ready ? '' : `\n{ export -p; echo "cd '$PWD'"; } >${terminal}`
    const url = script.includes(SERVICE) ? await this.url() : SERVICE
    const program = start(this.t, before + script.replaceAll(SERVICE, url) + after, this.folder)
    if (ready) {
      await until(program, ready)
      this.lasting.add(program)
    } else await program.code
    return program
  }

  /** Calls a tool as an assistant does, by its name and its arguments. */
  async call(text: string): Promise<Program> {
    const [, name, given] = /^(\w+) (.*)$/.exec(text) as string[]
    const { ask } = await assistant(this.t, await this.url(), DEMO_KEY)
    const printed = JSON.stringify(await ask(String(name), JSON.parse(String(given))))
    return { output: () => printed, stdout: () => printed, code: Promise.resolve(0), signal: () => {} }
  }

  /** A text with the names that the page uses. */
  async asOnThePage(text: string): Promise<string> {
    let named = text.replaceAll('\r', '')
    for (const [name, uri] of this.#databases) named = named.replaceAll(uri, name)
    return this.#service === undefined ? named : named.replaceAll(await this.url(), SERVICE)
  }

  #database(uri: string): string {
    const own = this.#databases.get(uri) ?? ownDatabase(this.t, String(server))
    this.#databases.set(uri, own)
    return own
  }

  #shared(script: string): Promise<Service> {
    const command = script.replace('true && ', '')
    const service = services.get(command) ?? this.#serve(t, command)
    services.set(command, service)
    return service
  }

  async #serve(t: Test, script: string): Promise<Service> {
    const port = await freePort()
    const program = start(t, script, this.folder, { PORT: String(port) })
    await until(program, LASTING[0]?.[1] as RegExp)
    return { ...program, port }
  }
}
