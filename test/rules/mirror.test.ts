// Tests are found where their source is: test/core/store/mongo.test.ts and test/core/store/mongo-large-page.test.ts test
// src/core/store/mongo.ts. test/service/ goes by topic, test/rules/ holds rules for all files, and support/ has no tests.
import { readdirSync } from 'node:fs'
import t from 'tap'

const namesIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))

t.test('a test file is named after its source file, or after it and a topic', async (t) => {
  const sources = [...namesIn('src', '.ts'), ...namesIn('seed', '.ts').map((name) => `seed/${name}`)]
  const without = namesIn('test', '.test.ts')
    .filter((name) => !/^(service|rules)\//.test(name))
    .filter((test) => !sources.some((source) => test === source || test.startsWith(`${source}-`)))
  t.same(without, [])
})

t.test('a test file ends in .test.ts, and support/ has none', async (t) => {
  const wrong = ['test', 'acceptance'].flatMap((folder) =>
    namesIn(folder, '.ts')
      .filter((name) => name.endsWith('.test') === name.startsWith('support/'))
      .map((name) => `${folder}/${name}.ts`),
  )
  t.same(wrong, [])
})
