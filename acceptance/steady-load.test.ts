// Many connections for long, each with a request now and then: nothing fails, every body is right, and the memory that the
// service uses does not grow. STEADY_LOAD says how many connections and for how many seconds.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { isRight } from './support/callers.js'
import { testDatabase } from './support/database.js'
import { fillForLoad, loadOf, mixtureOf, skipped, startLoad, startService, timesOf } from './support/steady.js'

const load = loadOf(process.env.STEADY_LOAD)
const ENTRIES = 3000
const PARTS = 10
/** In a shorter run the heap still grows to its usual size. */
const LONG_S = 120
/** Of the last three tenths against the third to the fifth: between two full collections the heap may differ as much. */
const MOST_GROWTH = 1.1

t.test(
  'nothing fails, no body is wrong, and the memory stays flat under a steady load',
  { skip: skipped(load), timeout: (load.seconds + 90) * 1000 },
  async (t) => {
    const { connections, seconds } = load
    const { uri } = await testDatabase(t)
    const filled = await fillForLoad(uri, ENTRIES)
    const { child, url } = await startService(t, uri, { MAX_CONNECTIONS: String(connections + 100) })
    const asked = await mixtureOf(url, filled)
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
    const callers = await startLoad(url, asked, { connections })
    const sizes: number[] = []
    for (let part = 0; part < PARTS; part++) {
      await setTimeout((seconds * 1000) / PARTS)
      sizes.push(Math.round(memory()))
    }
    const calls = await callers.stop()
    const wrong = calls.filter((call) => !isRight(call))
    t.same(wrong.slice(0, 5), [], 'each response is right')
    t.ok(calls.length > connections, 'each caller has asked')
    t.comment(`${calls.length} requests over ${connections} connections in ${seconds} s: ${timesOf(calls)}`)
    t.comment(
      `MiB after each tenth: ${sizes.join(' ')}; first ${sizes[0]}, last ${sizes.at(-1)}, most ${Math.max(...sizes)}`,
    )
    const mean = (from: number, to: number) => sizes.slice(from, to).reduce((sum, size) => sum + size, 0) / (to - from)
    const growth = mean(PARTS - 3, PARTS) / mean(2, 5)
    if (seconds >= LONG_S) t.ok(growth < MOST_GROWTH, `the memory is flat: ${growth}`)
    const logged = child
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    t.same(logged, [], 'it logs no warning and no error')
  },
)
