// The demo data and its keys.
import t from 'tap'
import { loadDemo } from '../src/demo.js'
import { embeddedStore } from '../src/store/embedded.js'
import { testApp } from './support/app.js'

t.test('each organisation of the demo has a key that is the same at every start', async (t) => {
  const first = await loadDemo(embeddedStore())
  const second = await loadDemo(embeddedStore())
  t.equal(first.length, 2)
  t.same(first, second)
  t.equal(new Set(first.map(({ key }) => key)).size, 2)
})

t.test('another scenario may be served', async (t) => {
  t.match(await loadDemo(embeddedStore(), { scenario: 'tiny' }), [{ organisation: { _id: 'tiny' }, key: /^fda_/ }])
})

t.test('every operation of the demo returns only data of the key’s organisation', async (t) => {
  const store = embeddedStore()
  const keys = await loadDemo(store)
  const { app } = await testApp(t, { store })
  const seen = new Set<string>()
  for (const { key } of keys) {
    const get = async (url: string) => (await app.inject({ url, headers: { authorization: `Bearer ${key}` } })).json()
    for (const resource of ['dispatches', 'projects', 'entries']) {
      const { data, _metadata } = await get(`/v1/${resource}?perPage=1000`)
      t.ok(_metadata.total > 0, resource)
      const ids: string[] = data.map(({ id }: { id: string }) => id)
      t.same(
        ids.filter((id) => seen.has(id)),
        [],
        `${resource} belong to one organisation`,
      )
      for (const id of ids) seen.add(id)
      t.equal((await get(`/v1/${resource}/${data[0].id}`)).data.id, data[0].id)
    }
  }
})
