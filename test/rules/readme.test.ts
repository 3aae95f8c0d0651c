// The README against the code: its settings, its errors and its first answer are the real ones.
import { readFileSync } from 'node:fs'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { Settings } from '../../src/config/config.js'
import { loadDemo } from '../../src/demo.js'
import { problems } from '../../src/http/problems.js'
import { embeddedStore } from '../../src/store/embedded.js'
import { testApp } from '../support/app.js'

const readme = readFileSync('README.md', 'utf8')

/** The rows of the table in a section, cell by cell. */
const table = (section: string): string[][] => {
  const text = readme.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
  return text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| |\s*\|$/g, '').trim()))
}

t.test('the README lists every error with its status, and no other', async (t) => {
  t.same(
    table('Errors'),
    Object.entries(problems).map(([code, { status, when }]) => [`\`${code}\``, String(status), when]),
  )
})

t.test('the README lists every setting with its default, and no other', async (t) => {
  const rows = table('Settings')
  const settings = Object.entries(Settings.properties)
  t.same(
    rows.map(([name]) => name),
    settings.map(([name]) => `\`${name}\``),
  )
  settings.forEach(([name, schema], i) => {
    const [, shown, meaning] = rows[i] as string[]
    t.equal(shown, schema.default === undefined ? '' : `\`${schema.default}\``, name)
    const { description, enum: allowed, minimum, maximum } = schema as TSchema
    const values = allowed && ` One of ${allowed.map((value: string) => `\`${value}\``).join(', ')}.`
    const range = minimum === undefined ? '' : ` From ${minimum} to ${maximum}.`
    t.equal(meaning, `${description}${values ?? range}`, name)
  })
})

t.test('the first request of the README gives the answer that stands below it', async (t) => {
  const [, key, url] = /Bearer (\S+)' \\\n {2}'http:\/\/127\.0\.0\.1:3000(\S+)'/.exec(readme) as RegExpExecArray
  const shown = /```json\n(.*?)```/s.exec(readme)?.[1] as string
  const store = embeddedStore()
  await loadDemo(store)
  const { app } = await testApp(t, { store })
  const headers = { host: '127.0.0.1:3000', authorization: `Bearer ${key}` }
  t.same((await app.inject({ url: url as string, headers })).json(), JSON.parse(shown))
})
