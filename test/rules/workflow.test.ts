// The workflow that GitHub runs, against what the project says that it supports. actionlint, in .ci/run, checks its form.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

interface Job {
  container?: { image: string }
  services?: Record<string, { image: string }>
  strategy: { matrix: Record<string, string[]> }
  steps: { uses?: string; run?: string; env?: Record<string, string> }[]
}

const { jobs } = parse(readFileSync('.github/workflows/ci.yml', 'utf8')) as { jobs: Record<string, Job> }
const [everything, mongodb] = [jobs.everything, jobs.mongodb] as [Job, Job]
const commands = ({ steps }: Job) => steps.map(({ run }) => run)

t.test(
  'everything runs on each even version of Node from the oldest that the package allows, and on the newest',
  async (t) => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
    const oldest = Number(/^>=(\d+)\./.exec(engines.node)?.[1])
    t.same(everything.strategy.matrix.node, [`${oldest}`, `${oldest + 2}`, `${oldest + 4}`, 'current'])
    t.match(everything.container?.image, /^node:\$\{\{ matrix\.node \}\}-/)
    t.ok(commands(everything).includes('bash .ci/run'))
  },
)

t.test('the suite runs on each version of MongoDB that is supported', async (t) => {
  const versions = mongodb.strategy.matrix.mongodb?.join(' and ')
  t.match(mongodb.services?.mongodb?.image, /^mongo:\$\{\{ matrix\.mongodb \}\}$/)
  t.ok(mongodb.steps.some(({ run, env }) => run?.startsWith('npm test') && env?.TEST_MONGODB_URI))
  for (const page of ['README.md', 'docs/operating.md', 'docs/contributing.md']) {
    t.match(readFileSync(page, 'utf8'), `MongoDB ${versions}`, page)
  }
})

t.test('every action has a fixed major version', async (t) => {
  for (const { steps } of Object.values(jobs)) {
    for (const { uses } of steps) if (uses !== undefined) t.match(uses, /^actions\/[\w-]+@v\d+$/)
  }
})
