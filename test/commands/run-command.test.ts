// What the commands share: how they write, and how they end.
import t from 'tap'
import { type Command, CommandError, print, UsageError } from '../../src/commands/run-command.js'
import { ConfigError } from '../../src/config/config.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'

const codes = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)
/** Control characters of ASCII and of Latin 1, of direction, and the ends of lines and paragraphs. */
const commanding = [
  ...codes(0, 0x1f),
  ...codes(0x7f, 0x9f),
  0x061c,
  ...[0x200e, 0x200f, 0x2028, 0x2029],
  ...codes(0x202a, 0x202e),
  ...codes(0x2066, 0x2069),
].map((code) => String.fromCharCode(code))
const escapeOf = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const saying = (run: Command['run']): Command => ({ usage: 'Usage:\n  say', run })

t.test('a character that a terminal obeys is written as its escape, every other one as it is', async (t) => {
  const store = testStore(t)
  const plain = ' ~é Ọkáfọ̀ مركز 市场 🙏 क्‍ष \u200c\ufffd"\\'
  for (const character of commanding) {
    const { stdout } = await tryCommand(
      saying(async (_store, _argv, { out }) => print(out, `a${character}b`, plain)),
      store,
      [],
    )
    t.equal(stdout, `a${escapeOf(character)}b\n${plain}\n`)
  }
})

t.test('JSON stays the same JSON', async (t) => {
  const value = { text: commanding.join('x') }
  const json = saying(async (_store, _argv, { out }) => print(out, JSON.stringify(value)))
  const { stdout } = await tryCommand(json, testStore(t), [])
  t.same(JSON.parse(stdout), value)
  t.match(stdout, /^[ -~]+\n$/)
})

t.test('whatever ends a command, its message is harmless', async (t) => {
  const store = testStore(t)
  const bad = '\u001b[2Ja\u009b\u202e\nb'
  const shown = '\\u001b[2Ja\\u009b\\u202e\\u000ab'
  const failing = (error: Error) =>
    tryCommand(
      saying(() => Promise.reject(error)),
      store,
      [],
    )
  t.match(await failing(new CommandError(bad, ['Then', bad])), { code: 1, output: `${shown}\nThen\n${shown}\n` })
  t.match(await failing(new UsageError(bad)), { code: 2, output: `${shown}\n\nUsage:\n  say\n` })
  t.match(await failing(new StoreUnavailable(new Error(bad))), {
    code: 1,
    output: `The database cannot be reached: ${shown}\n`,
  })
  for (const error of [new ConfigError(['\u001bx']), new Error('\u001bx')]) {
    const { output } = await failing(error)
    t.match(output, '\\u001bx')
    t.notMatch(output, '\u001b')
  }
})
