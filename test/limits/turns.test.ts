// A few pieces of work in each turn of the event loop.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Turns } from '../../src/limits/turns.js'

t.test('a few pieces of work pass in each turn, in their order', async (t) => {
  const turns = new Turns(2, () => false)
  const passed: number[] = []
  const pass = async (n: number) => {
    await turns.pass()
    passed.push(n)
  }
  for (let n = 0; n < 5; n++) pass(n)
  for (const sofar of [2, 4, 5, 5]) {
    await Promise.resolve()
    t.same(passed, [0, 1, 2, 3, 4].slice(0, sofar))
    await setImmediate()
  }
  t.equal(turns.pass(), undefined)
})

t.test('what comes while they are held passes afterwards', async (t) => {
  let isHeld = true
  const turns = new Turns(2, () => isHeld)
  const passed = turns.pass()?.then(() => 'passed')
  const first = () => Promise.race([passed, setImmediate('waits')])
  t.equal(await first(), 'waits')
  t.equal(await first(), 'waits')
  isHeld = false
  t.equal(await first(), 'passed')
})
