// Writes down how many seconds each test file of a process takes, so that the next run gives each process as much to do.
import t from 'tap'
import { writeSeconds } from './test-groups.js'

const seconds = {}
t.on('subtestAdd', (test) => {
  const [, name] = /\b(test\/\S+?\.test)\.[jt]s/.exec(test.options.stack) ?? []
  const file = `dist/${name}.js`
  test.on('end', () => {
    seconds[file] = (seconds[file] ?? 0) + test.time / 1000
  })
})
process.on('exit', () => writeSeconds(seconds))
