// A deleted record is gone at once: from lists, totals, by-ids and the records that embed it.
import t from 'tap'
import { type RecordCollection, recordCollections } from '../../src/core/documents/collections.js'
import { testApp } from '../support/app.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

const lists = ['/v1/entries', '/v1/dispatches', '/v1/projects']
const byIds = [
  `/v1/entries/${a.entry(1)._id}`,
  `/v1/dispatches/${a.dispatch(1)._id}`,
  `/v1/projects/${a.project(1)._id}`,
]

t.test('a deleted record is gone from lists, totals, by-ids and embeds until it is created again', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants, settings: { TOTAL_MAX_AGE_MS: '0' } })
  const bodies = (urls: readonly string[], organisation = A) =>
    Promise.all(urls.map(async (url) => (await get(url, organisation)).json()))
  const fieldsOf = async () => (await bodies(byIds)).flatMap(({ data }) => Object.keys(data))
  const before = await bodies([...lists, ...byIds])
  const foreign = await bodies(lists, B)
  const embedding = await fieldsOf()

  const deleted = new Map<RecordCollection, unknown[]>()
  const removeAll = async (name: RecordCollection) => {
    const found: Record<string, unknown>[] = await store.dangerouslyFindAll(name, { organisation: A })
    const ids = found.map(({ _id }) => String(_id))
    deleted.set(
      name,
      found.map(({ changedAt, ...record }) => record),
    )
    t.equal(await store.remove(name, A, ids), ids.length, name)
  }

  for (const name of ['users', 'agents', 'forms'] as const) await removeAll(name)
  const fields = await fieldsOf()
  for (const name of fields) embedding.splice(embedding.indexOf(name), 1)
  t.same(embedding.sort(), ['agent', 'createdBy', 'createdBy', 'form', 'form', 'modifiedBy', 'modifiedBy'])
  t.match((await get(byIds[1] as string, A)).json(), { data: { recipients: { agents: [] } } })

  for (const name of recordCollections) if (!deleted.has(name)) await removeAll(name)
  for (const body of await bodies(lists)) t.match(body, { data: [], _metadata: { total: 0 } })
  for (const url of byIds) t.equal((await get(url, A)).statusCode, 404, url)
  t.same(await bodies(lists, B), foreign, 'another organisation has what it had')

  for (const name of recordCollections) await store.insert(name, deleted.get(name) as never)
  t.same(await bodies([...lists, ...byIds]), before)
})
