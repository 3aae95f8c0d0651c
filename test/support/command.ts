// Runs commands in this process, on a store that they do not close: one command, or transcripts of several.
import { readdirSync, readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import type { Test } from 'tap'
import { checkCommand } from '../../src/commands/check.js'
import { indexesCommand } from '../../src/commands/indexes.js'
import { keysCommand } from '../../src/commands/keys.js'
import { loadCommand } from '../../src/commands/load.js'
import { organisationsCommand } from '../../src/commands/organisations.js'
import { type MakeCommand, runCommand, visible } from '../../src/commands/run-command.js'
import { seedCommand } from '../../src/commands/seed.js'
import { stampCommand } from '../../src/commands/stamp.js'
import type { CollectionName } from '../../src/core/documents/collections.js'
import type { Store } from '../../src/core/store/store.js'
import { testStore } from './store.js'

interface Circumstances {
  /** What somebody types on the terminal. Without it there is no terminal. */
  readonly typed?: string | undefined
  /** What happens while the command waits. */
  readonly pause?: (ms: number) => Promise<unknown>
  /** Tells the command to stop. The signals of this process are not for a command. */
  readonly signal?: AbortSignal
}

/** Runs a command, and returns what it writes: on stdout, in all, and line by line with `2> ` before those of stderr. */
export const tryCommand = async (
  command: MakeCommand,
  store: Store,
  argv: readonly string[],
  { typed, pause = async () => {}, signal = new AbortController().signal }: Circumstances = {},
) => {
  const written: { text: string; isError: boolean }[] = []
  const streamFor = (isError: boolean, isTTY: boolean) => {
    const stream = new Writable({
      write(chunk, _encoding, done) {
        written.push({ text: String(chunk), isError })
        done()
      },
    })
    return Object.assign(stream, { isTTY })
  }
  const isTTY = typed !== undefined
  const terminal = {
    input: () => Object.assign(Readable.from([`${typed}`]), { isTTY }),
    out: streamFor(false, false),
    err: streamFor(true, isTTY),
  }
  const open = () => ({ ...store, close: async () => {} })
  const code = await runCommand(command, argv, open, terminal, () => signal, pause)
  return {
    code,
    stdout: written.map(({ text, isError }) => (isError ? '' : text)).join(''),
    output: written.map(({ text }) => text).join(''),
    lines: written
      .filter(({ text }) => text !== '')
      .flatMap(({ text, isError }) =>
        text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => (isError ? `2> ${line}`.trimEnd() : line)),
      ),
  }
}

const commands: Record<string, MakeCommand> = {
  check: checkCommand,
  indexes: indexesCommand,
  keys: keysCommand,
  load: loadCommand,
  organisations: organisationsCommand,
  seed: seedCommand,
  stamp: stampCommand,
}

/** The words of a command line. Single quotes keep a word with spaces together. */
const wordsOf = (line: string): string[] =>
  (line.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) => word.replaceAll("'", ''))

/** Documents of some collections: before a transcript, or all afterwards, by their ids and with the fields that matter. */
export type Contents = {
  readonly [C in CollectionName]?: readonly { readonly _id: string; readonly [field: string]: unknown }[]
}

/** Commands that are run one after the other on a store. */
export interface Transcript {
  readonly before?: Contents | ((store: Store) => Promise<unknown>)
  /** Files in the folder `<dir>`, by their names. Afterwards it holds the same. */
  readonly files?: Readonly<Record<string, string>>
  /**
   * `$ keys list` is a command line; `< Ana` is what is typed on its terminal. Behind them stand the lines that it writes, with
   * `2> ` before those on stderr, and `exit 1` if its exit code is not 0. In a line `…` is any text, and alone any lines.
   * `<time>` and the other words in `KINDS` are such a text. `<key A>` is the same text everywhere. JSON on stdout is one line.
   */
  readonly lines: string
  readonly after?: Contents
}

const KINDS: Readonly<Record<string, string>> = {
  key: 'fda_\\w{52}',
  keyId: '\\w{12}',
  id: '[0-9a-f]{24}',
  time: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z',
  audit: '"level":30,"time":\\d{13},"msg":"audit",',
}
const PLACEHOLDER = new RegExp(`<(${Object.keys(KINDS).join('|')}|dir)( \\w+)?>|…`, 'g')

/** The texts that placeholders with a name stand for. */
class Bound {
  readonly #texts = new Map<string, string>()

  constructor(dir: string) {
    this.#texts.set('<dir>', dir)
  }

  /** A text or an object in which placeholders are replaced by what they stand for. */
  in<T>(value: T): T {
    if (typeof value === 'string') return value.replace(PLACEHOLDER, (found) => this.#texts.get(found) ?? found) as T
    if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) === Date.prototype) return value
    if (Array.isArray(value)) return value.map((each) => this.in(each)) as T
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.in(each)])) as T
  }

  /** Whether a line is as expected. Then its placeholders stand for what is there. */
  matches(expected: string, line: string | undefined): boolean {
    const names: string[] = []
    const pattern = this.in(expected)
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(PLACEHOLDER, (found, kind) => {
        names.push(found)
        return `(${KINDS[kind] ?? '.*'})`
      })
    const found = new RegExp(`^${pattern}$`).exec(line ?? '\n')
    if (found === null) return false
    for (const [n, name] of names.entries()) if (name.includes(' ')) this.#texts.set(name, found[n + 1] as string)
    return true
  }

  /** The lines, where those that are as expected look as they are expected. */
  compared(expected: readonly string[], lines: readonly string[]): string[] {
    const compared: string[] = []
    let at = 0
    for (const [n, line] of expected.entries()) {
      if (line === '…') {
        const next = expected[n + 1]
        if (next === undefined) at = lines.length
        else while (at < lines.length && !this.matches(next, lines[at])) at += 1
      } else if (this.matches(line, lines[at])) at += 1
      else break
      compared.push(line)
    }
    return [...compared, ...lines.slice(at)]
  }
}

/** Indented JSON as one line. */
const joined = (lines: readonly string[]): string[] => {
  const text = lines.filter((line) => !line.startsWith('2> ')).join('\n')
  if (!/^[[{]\n/.test(text)) return [...lines]
  const first = lines.findIndex((line) => !line.startsWith('2> '))
  return [
    ...lines.slice(0, first),
    JSON.stringify(JSON.parse(text)),
    ...lines.slice(first).filter((line) => line.startsWith('2> ')),
  ]
}

const byId = <T extends { _id: string }>(documents: readonly T[]): T[] =>
  documents.toSorted((one, other) => (one._id < other._id ? -1 : 1))

/** Runs a transcript. */
export const runTranscript = async (
  t: Test,
  { before = {}, files = {}, lines, after = {} }: Transcript,
  store = testStore(t),
) => {
  if (typeof before === 'function') await before(store)
  else
    for (const [name, documents] of Object.entries(before))
      await store.insert(name as CollectionName, documents as never)
  const dir = t.testdir({ ...files })
  const bound = new Bound(dir)
  for (const call of lines.replace(/^ +/gm, '').split(/^\$ /m).slice(1)) {
    const [line = '', ...following] = call.trimEnd().split('\n')
    const typed = following[0]?.startsWith('< ') ? `${following.shift()?.slice(2)}\n` : undefined
    const [name = '', ...argv] = wordsOf(bound.in(line))
    const { code, lines: printed } = await tryCommand(commands[name] as MakeCommand, store, argv, { typed })
    const found = [...joined(printed), ...(code === 0 ? [] : [`exit ${code}`])]
    t.equal(bound.compared(following, found).join('\n'), following.join('\n'), line)
  }
  for (const [name, expected] of Object.entries(bound.in(after))) {
    const found = byId(await store.dangerouslyFindAll(name as CollectionName, {}))
    t.equal(found.length, expected.length, name)
    t.match(found, byId(expected), name)
  }
  const filesFound = readdirSync(dir).map((name) => [name, readFileSync(`${dir}/${name}`, 'utf8')])
  t.same(
    filesFound.map(([name]) => name),
    Object.keys(files).sort(),
  )
  t.match(Object.fromEntries(filesFound), files)
}

/** Runs transcripts, each as a test of its own, named by its title. */
export const transcripts = (t: Test, cases: Readonly<Record<string, Transcript>>): void => {
  for (const [title, transcript] of Object.entries(cases)) t.test(title, (t) => runTranscript(t, transcript))
}

/** A store that no command may open or use. */
const untouched = {} as Store

/** Command lines that are wrong, each with a part of its message. They exit with 2, show the usage, and open no store. */
export const wrongCalls = async (
  t: Test,
  calls: readonly (readonly [line: string, message: string])[],
): Promise<void> => {
  for (const [line, message] of calls) {
    const [name = '', ...argv] = wordsOf(line)
    const { code, stdout, output } = await tryCommand(commands[name] as MakeCommand, untouched, argv)
    t.same({ code, stdout }, { code: 2, stdout: '' }, visible(line))
    t.match(output, message, visible(line))
    t.match(output, `Usage: ${name}`, visible(line))
  }
}

/** The store, where something else happens once, just before or after a method is called. */
export const meanwhile = (
  store: Store,
  order: 'before' | 'after',
  method: 'insert' | 'update',
  happens: () => Promise<unknown>,
): Store => {
  let isOver = false
  const once = async (now: typeof order) => {
    if (now !== order || isOver) return
    isOver = true
    await happens()
  }
  return {
    ...store,
    async [method](...call: never[]) {
      await once('before')
      const result = await (store[method] as (...call: never[]) => Promise<unknown>)(...call)
      await once('after')
      return result
    },
  }
}
