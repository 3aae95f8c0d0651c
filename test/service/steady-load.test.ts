// Many connections for long, each with a request now and then: nothing fails, every body is right, and the memory that the
// service uses does not grow. STEADY_LOAD says how many connections and for how many seconds.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { testDatabase } from '../support/database.js'
import { fillForLoad, loadOf, mixtureOf, skipped, startLoad, startService, timesOf } from '../support/steady.js'

const load = loadOf(process.env.STEADY_LOAD)
const ENTRIES = 3000
const PARTS = 10

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
    const before = performance.now()
    const callers = await startLoad(url, asked, { connections })
    t.comment(Math.round(performance.now() - before))
    const sizes: number[] = []
    for (let part = 0; part < PARTS; part++) {
      await setTimeout((seconds * 1000) / PARTS)
      sizes.push(Math.round(memory()))
    }
    const calls = await callers.stop()
    for (const path of new Set(
      calls.map(({ path }) => path.replace(/entry\d+/, ':id').replace(/cursor=[^*&]+/, 'cursor=X')),
    )) {
      t.comment(
        path,
        timesOf(
          calls.filter((call) => call.path.replace(/entry\d+/, ':id').replace(/cursor=[^*&]+/, 'cursor=X') === path),
        ),
      )
    }
    t.same(calls.filter(({ status, error, wrong }) => status !== 200 || error || wrong).slice(0, 10), [])
    t.comment(`${calls.length} requests over ${connections} connections in ${seconds} s: ${timesOf(calls)}`)
    t.comment(`memory in MiB after each tenth: ${sizes.join(' ')}`)
    t.comment(
      child
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{')).length,
    )
  },
)
