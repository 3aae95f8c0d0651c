// The demo data and its keys.
import t from 'tap'
import { embeddedStore } from '../src/core/store/embedded.js'
import { loadDemo } from '../src/demo.js'

t.test('each organisation of the demo has a key that is the same at every start', async (t) => {
  const few = { dispatches: 4, entries: 100 }
  const first = await loadDemo(embeddedStore(), few)
  const second = await loadDemo(embeddedStore(), few)
  t.equal(first.length, 2)
  t.same(first, second)
  t.equal(new Set(first.map(({ key }) => key)).size, 2)
})

t.test('another scenario may be served', async (t) => {
  t.match(await loadDemo(embeddedStore(), { scenario: 'tiny' }), [{ organisation: { _id: 'tiny' }, key: /^fda_/ }])
})
