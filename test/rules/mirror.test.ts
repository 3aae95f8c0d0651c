// Tests are found where their source is: test/store/mongo.test.ts and test/store/mongo-large-page.test.ts test
// src/store/mongo.ts. test/service/ goes by topic, test/rules/ holds rules for all files, test/support/ has no tests.
import { readdirSync } from 'node:fs'
import t from 'tap'
import { eachResource } from '../support/resources.js'

/**
 * Source files without a test file of their own, with the tests that cover them. A name that ends in / is a folder, and
 * <resource> stands for every resource.
 */
const COVERED_ELSEWHERE: Record<string, string> = {
  'schemas/': 'rules/schemas and service/contract',
  'seed/': 'seed/index, since the parts of a data set depend on each other',
  'src/config/open-mongo': 'server and cli, which start processes with a database',
  'src/exports/encoder': 'routes/exports',
  'src/exports/file': 'routes/exports and commands/export',
  'src/exports/index': 'routes/exports',
  'src/exports/questions': 'routes/exports',
  'src/exports/parquet-worker': 'exports/parquet',
  'src/http/problems': 'plugins/problems',
  'src/limits/counts': 'limits/budget, limits/fair-queue and sync/waiting',
  'src/limits/overloaded': 'plugins/admission and plugins/problems',
  'src/metrics/catalogue': 'rules/metrics',
  'src/pipelines/<resource>': 'service/contract, lists, isolation, hostile and plans',
  'src/pipelines/index': 'every test that goes through all resources',
  'src/pipelines/joins': 'service/contract, lists, isolation, hostile and plans',
  'src/pipelines/keyset': 'routes/list-page and service/walks',
  'src/pipelines/sync': 'sync/feed, sync/digest and service/plans',
  'src/plugins/json-only': 'plugins/problems',
  'src/plugins/openapi-components': 'plugins/openapi',
  'src/plugins/page-files': 'plugins/docs-page and plugins/explore-page',
  'src/release': 'plugins/request-log and cli',
  'src/routes/index': 'plugins/openapi',
  'src/routes/responses': 'routes/operations-revalidation and plugins/openapi',
  'src/serializer/any': 'serializer/writer',
  'src/serializer/features': 'routes/ogc',
  'src/serializer/generator': 'serializer/writer',
  'src/store/connections': 'store/mongo',
  'src/store/stuck': 'store/mongo',
  'src/validation/parameters': 'service/bad-input',
}

const namesIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))

const sources = [
  ...namesIn('src', '.ts').map((name) => `src/${name}`),
  ...['schemas', 'seed'].flatMap((folder) => namesIn(folder, '.ts').map((name) => `${folder}/${name}`)),
]
const tests = namesIn('test', '.test.ts').filter((name) => !/^(service|rules)\//.test(name))

/** Whether a test is named after a source file, with or without a topic. */
const isTestOf = (test: string, source: string): boolean => {
  const name = source.replace(/^src\//, '')
  return test === name || test.startsWith(`${name}-`)
}

t.test('a test file is named after its source file, or after it and a topic', async (t) => {
  for (const test of tests) {
    t.ok(
      sources.some((source) => isTestOf(test, source)),
      `test/${test}.test.ts has no source file`,
    )
  }
})

t.test('a source file has a test file, or is listed with the tests that cover it', async (t) => {
  const resources = eachResource.map(([name]) => name)
  const listed = Object.keys(COVERED_ELSEWHERE).flatMap((name) =>
    name.includes('<resource>') ? resources.map((resource) => name.replace('<resource>', resource)) : name,
  )
  const isListed = (source: string) =>
    listed.some((listed) => source === listed || (listed.endsWith('/') && source.startsWith(listed)))
  for (const source of sources) {
    const isTested = tests.some((test) => isTestOf(test, source))
    if (source.startsWith('src/'))
      t.ok(isTested !== isListed(source), `${source}.ts has a test file or is listed, not both`)
    else t.ok(isTested || isListed(source), `${source}.ts has a test file or is listed`)
  }
})

t.test('a test file ends in .test.ts, and test/support/ has none', async (t) => {
  for (const name of namesIn('test', '.ts')) {
    t.equal(name.endsWith('.test'), !name.startsWith('support/'), `test/${name}.ts`)
  }
})
