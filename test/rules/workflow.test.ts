// The workflow that GitHub runs, against what the project says that it supports. actionlint, in .ci/run, checks its form.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

const { jobs } = parse(readFileSync('.github/workflows/ci.yml', 'utf8')) as {
  jobs: Record<'everything' | 'mongodb', { strategy: { matrix: Record<string, string[]> } }>
}

t.test(
  'everything runs on the even versions of Node from the oldest that the package allows, and on the newest',
  async (t) => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
    const oldest = Number(/^>=(\d+)\./.exec(engines.node)?.[1])
    t.same(jobs.everything.strategy.matrix.node, [`${oldest}`, `${oldest + 2}`, `${oldest + 4}`, 'current'])
  },
)

t.test('the suite runs on each version of MongoDB that the pages name', async (t) => {
  const versions = jobs.mongodb.strategy.matrix.mongodb as string[]
  t.equal(versions.at(-1), 'latest')
  const named = versions.slice(0, -1).join(' and ')
  for (const page of ['README.md', 'docs/operating.md', 'docs/contributing.md'])
    t.match(readFileSync(page, 'utf8'), `MongoDB ${named}`, page)
})
