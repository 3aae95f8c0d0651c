// What all commands share: arguments, output and exit codes.
import { PassThrough, Readable, Writable } from 'node:stream'
import t from 'tap'
import {
  CommandError,
  type MakeCommand,
  newCommand,
  print,
  printed,
  runCommand,
  type Session,
  visible,
} from '../../src/commands/run-command.js'
import { ConfigError } from '../../src/core/config/config.js'
import { QueryTimeout, StoreUnavailable } from '../../src/core/store/store.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'

/** The control characters of ASCII and Latin 1, those of text direction, and line and paragraph separators. */
const controls = [
  ...[
    [0, 0x1f],
    [0x7f, 0x9f],
    [0x061c, 0x061c],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2066, 0x2069],
  ],
].flatMap(([from = 0, to = 0]) => Array.from({ length: to - from + 1 }, (_, n) => String.fromCharCode(from + n)))
const escapeOf = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A command that does this on a store. */
const commandOf =
  (run: (session: Session) => Promise<void>): MakeCommand =>
  (session) =>
    newCommand('say', 'Say it', 'say').action(async () => {
      session.open()
      await run(session)
    })

t.test('a control character is written as its escape, and every other character as it is', async (t) => {
  const store = testStore(t)
  const plain = ' ~é Ọkáfọ̀ مركز 市场 🙏 क्‍ष \u200c\ufffd"\\'
  for (const character of controls) {
    const command = commandOf(async ({ out }) => print(out, `a${character}b`, plain))
    const { stdout } = await tryCommand(command, store, [])
    t.equal(stdout, `a${escapeOf(character)}b\n${plain}\n`)
    t.equal(JSON.parse(`"${visible(character)}"`), character, 'escaped JSON stays equivalent JSON')
  }
})

t.test('no error message contains control characters', async (t) => {
  const store = testStore(t)
  const bad = '\u001b[2Ja\u009b\u202e\nb'
  const shown = '\\u001b[2Ja\\u009b\\u202e\\u000ab'
  const failing = (error: Error) =>
    tryCommand(
      commandOf(() => Promise.reject(error)),
      store,
      [],
    )
  t.match(await failing(new CommandError(bad, ['Then', bad])), { code: 1, output: `${shown}\nThen\n${shown}\n` })
  t.match(await tryCommand(() => newCommand('say', 'Say it', 'say'), store, [`--${bad}`]), {
    code: 2,
    output: `Unknown option '--${shown}'\n\nUsage: say [options]\nHelp:  say --help\n`,
  })
  t.match(await failing(new StoreUnavailable(new Error(bad))), {
    code: 1,
    output: `The database cannot be reached: ${shown}\n`,
  })
  t.match(await failing(new QueryTimeout(new Error('slow'))), {
    code: 1,
    output: 'The query took too long: QUERY_TIMEOUT_MS allows more\n',
  })
  for (const error of [new ConfigError(['\u001bx']), new Error('\u001bx')]) {
    const { output } = await failing(error)
    t.match(output, '\\u001bx')
    t.notMatch(output, '\u001b')
  }
})

t.test('a question is asked where somebody sees it, or not at all', async (t) => {
  const stream = (isTTY: boolean) => Object.assign(new PassThrough(), { isTTY })
  const asking = commandOf(async ({ ask, tell }) => tell(await ask('Who? ')))
  for (const [isErr, isOut, typed, toErr, toOut] of [
    [true, false, ['Ana\n'], 'Who? Ana\n', ''],
    [false, true, ['Ana\n'], 'Ana\n', 'Who? '],
    [true, false, [], 'Who? Nothing was typed\n', ''],
    [false, false, ['Ana\n'], 'There is no terminal to ask on: use --yes\n', ''],
  ] as const) {
    const [err, out] = [stream(isErr), stream(isOut)]
    const input = () => Object.assign(Readable.from(typed), { isTTY: true })
    await runCommand(asking, [], () => testStore(t), { input, out, err })
    t.same([String(err.read() ?? ''), String(out.read() ?? '')], [toErr, toOut])
  }
})

t.test('the help shows an example and what is required, and a wrong call says what is wrong', async (t) => {
  const command: MakeCommand = () =>
    newCommand('say', 'Say it', 'say --to Ana', '\nIn other words:\n\n  say it')
      .requiredOption('--to <NAME>', 'to whom')
      .action(() => {})
  t.match(await tryCommand(command, testStore(t), ['--help']), {
    code: 0,
    stdout:
      /^Usage: .*--to <NAME> +to whom \(required\)\n.*\$ npx field-data-api say --to Ana\n\nIn other words:\n\n {2}say it\n$/s,
  })
  const { code, lines } = await tryCommand(command, testStore(t), ['--to', 'Ana', '--tu'])
  t.equal(code, 2)
  t.same(lines, [
    "2> Unknown option '--tu'",
    '2> (Did you mean --to?)',
    '2>',
    '2> Usage: say [options]',
    '2> Help:  say --help',
  ])
})

t.test('a command whose reader has gone ends silently, and any other failure of its output is shown', async (t) => {
  const store = testStore(t)
  // Like a connection, the store takes a while to close.
  const open = () => ({ ...store, close: () => new Promise<void>((done) => setImmediate(done)) })
  const endless = async (out: NodeJS.WritableStream) => {
    for (;;) await printed(out, 'line')
  }
  for (const write of [endless, async (out: NodeJS.WritableStream) => print(out, 'line')]) {
    for (const [code, shown] of [
      ['EPIPE', ''],
      ['ENOSPC', 'The result cannot be written: The output failed\n'],
    ] as const) {
      const failure = Object.assign(new Error('The output failed'), { code, syscall: 'write' })
      for (const argv of [[], ['--help']]) {
        const err = new PassThrough()
        const out = new Writable({ write: (_chunk, _encoding, done) => done(failure) })
        const command = commandOf(({ out }) => write(out))
        t.equal(await runCommand(command, argv, open, { input: () => process.stdin, out, err }), 1)
        t.equal(String(err.read() ?? ''), shown)
      }
    }
  }
})
