// Work in slices, and work that ends together.
import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { allEnded, runInSlices } from '../../../src/core/limits/work.js'

/** Work of three slices that notes when each begins. */
const work = (done: string[]) =>
  (function* () {
    for (const slice of ['first', 'second', 'third']) {
      done.push(slice)
      yield
    }
    return 'result'
  })()

t.test('work lets other work run between its slices', async (t) => {
  const done: string[] = []
  const working = runInSlices(work(done))
  const other = (async () => {
    for (let turn = 0; turn < 3; turn++) {
      await setImmediate()
      done.push('other')
    }
  })()
  t.equal(await working, 'result')
  await other
  t.same(done, ['first', 'second', 'other', 'third', 'other', 'other'])
})

t.test('a signal ends work after a slice', async (t) => {
  const done: string[] = []
  const caller = new AbortController()
  const working = runInSlices(work(done), caller.signal)
  caller.abort(new Error('gone'))
  await t.rejects(working, { message: 'gone' })
  t.same(done, ['first'])
})

t.test('work that ends together is waited for also when some of it fails', async (t) => {
  let isOver = false
  const slow = setTimeout(20).then(() => {
    isOver = true
    return 2
  })
  await t.rejects(allEnded([Promise.reject(new Error('first')), slow]), { message: 'first' })
  t.ok(isOver)
  t.same(await allEnded([1, slow]), [1, 2])
})
