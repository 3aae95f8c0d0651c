// The benchmark has packages of its own, besides those of the service.
import { readFileSync } from 'node:fs'
import t from 'tap'

const versionIn = (lockFile: string, name: string): string =>
  JSON.parse(readFileSync(lockFile, 'utf8')).packages[`node_modules/${name}`].version

t.test('the benchmark measures the driver with the version that the service uses', async (t) => {
  t.equal(versionIn('bench/package-lock.json', 'mongodb'), versionIn('package-lock.json', 'mongodb'))
})
