// What is listed in a catalogue is used and tested: an error that nothing throws, or a setting that no test names, is a mistake.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Settings } from '../../src/config/config.js'
import { problems } from '../../src/problems/problems.js'

const textOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('support/'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')

/** Whether a text has a word. A failing t.match() would print the whole text. */
const names = (text: string, word: string): boolean => new RegExp(`\\b${word}\\b`).test(text)

t.test('the tests of the settings name every setting', async (t) => {
  const tests = readFileSync('test/config/config.test.ts', 'utf8')
  for (const name of Object.keys(Settings.properties)) t.ok(names(tests, name), `test/config/config.test.ts: ${name}`)
})

// That an operation declares an error, or that an example shows it, does not make it occur.
t.test('the service throws every error, and a test outside test/support names it', async (t) => {
  const [source, tests] = [textOf('src'), textOf('test')]
  for (const code of Object.keys(problems)) {
    t.ok(new RegExp(`\\bproblem\\(\\s*'${code}'`).test(source), `src: ${code}`)
    t.ok(names(tests, code), `test: ${code}`)
  }
})
