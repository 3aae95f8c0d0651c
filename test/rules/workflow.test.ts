// The workflows that GitHub runs, against what the project says that it supports. actionlint, in .ci/nightly, checks their form.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

const matrix = (workflow: string, job: string): Record<string, string[]> =>
  parse(readFileSync(`.github/workflows/${workflow}.yml`, 'utf8')).jobs[job].strategy.matrix

t.test(
  'what runs at night has the even versions of Node from the oldest that the package allows, and the newest',
  async (t) => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
    const oldest = Number(/^>=(\d+)\./.exec(engines.node)?.[1])
    const versions = [oldest, oldest + 2, oldest + 4].map(String)
    t.same(matrix('nightly', 'nightly').node, [...versions, 'current'])
    t.match(readFileSync('.ci/nightly', 'utf8'), `for version in ${versions.join(' ')};`)
    t.same(matrix('ci', 'gate').node, [versions[0], versions[2]])
  },
)

t.test('the suite runs on each version of MongoDB that the pages name', async (t) => {
  const versions = matrix('nightly', 'mongodb').mongodb ?? []
  t.equal(versions.at(-1), 'latest')
  const named = versions.slice(0, -1).join(' and ')
  for (const page of ['README.md', 'docs/operating.md', 'docs/contributing.md'])
    t.match(readFileSync(page, 'utf8'), `MongoDB ${named}`, page)
})
