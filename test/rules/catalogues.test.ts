// Every error of the catalogue occurs, and is tested. That an operation declares it, or that an example shows it, is not enough.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { problems } from '../../src/core/problems/problems.js'

const textOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('support/'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')

t.test('the service throws every error, and a test outside test/support names it', async (t) => {
  const [source, tests] = [textOf('src'), textOf('test')]
  const codes = Object.keys(problems)
  t.same(
    codes.filter((code) => !new RegExp(`\\bproblem\\(\\s*'${code}'`).test(source)),
    [],
  )
  t.same(
    codes.filter((code) => !new RegExp(`\\b${code}\\b`).test(tests)),
    [],
  )
})
