// Parameters that tell of what a key does not see.
import t, { type Test } from 'tap'
import type { Hidden } from '../../../schemas/kit.js'
import { keysOf } from '../../../src/core/keys/keys.js'
import { testApp } from '../../support/app.js'
import { A, fillTenants } from '../../support/tenants.js'

const prepare = async (t: Test) => {
  const { app, store } = await testApp(t, { fill: fillTenants })
  const keys = keysOf(store, (error) => t.fail(String(error)))
  return async (...without: Hidden[]) => {
    const key = await keys.issue({ organisation: A, name: 'Test', ...(without.length > 0 && { without }) })
    const headers = { authorization: `Bearer ${key}` }
    return (url: string, method: 'GET' | 'HEAD' = 'GET') => app.inject({ url, method, headers })
  }
}

const BBOX = 'bbox=-180,-90,180,90'

t.test('a box is refused in lists, exports and features to a key that sees no places', async (t) => {
  const caller = await prepare(t)
  const [all, personal, places] = [await caller(), await caller('personal'), await caller('places')]
  const errors = [{ in: 'query', name: 'bbox', message: 'is not visible to this key' }]
  for (const path of [
    '/v1/entries',
    '/v1/exports/entries.csv',
    '/v1/exports/answers.ndjson',
    '/v1/ogc/collections/entries/items',
  ]) {
    const url = `${path}?${BBOX}`
    for (const ask of [all, personal]) t.equal((await ask(url)).statusCode, 200, url)
    t.equal((await places(path)).statusCode, 200, path)
    const refused = await places(url)
    t.match(refused.json(), { code: 'invalid_parameter', detail: 'bbox is not visible to this key', errors }, url)
    t.equal((await places(url, 'HEAD')).statusCode, 400, `HEAD ${url}`)
  }
})

t.test('hidden fields are refused by their names, all of them at once, and others are not', async (t) => {
  const caller = await prepare(t)
  const [all, personal, both] = [await caller(), await caller('personal'), await caller('personal', 'places')]
  const url = '/v1/agents?fields=phone,id,location,email'
  t.equal((await all(url)).statusCode, 200)
  const message = 'has email, phone, which is not visible to this key'
  const allowed = ['id', 'status', 'location', 'createdAt', 'updatedAt']
  t.match((await personal(url)).json(), { status: 400, errors: [{ in: 'query', name: 'fields', message, allowed }] })
  t.match((await both(url)).json(), { status: 400, detail: 'fields has email, phone, location, which' })
  t.same((await personal('/v1/agents?fields=location,status')).statusCode, 200)
  t.match((await both(`/v1/entries?fields=location&${BBOX}`)).json(), {
    errors: [{ name: 'bbox' }, { name: 'fields' }],
  })
  t.match((await both('/v1/exports/users.parquet?fields=lastName')).json(), { status: 400 })
})
