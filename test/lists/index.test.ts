// What lists and by-ids have in common: they end when their caller disconnects.
import { EventEmitter, once } from 'node:events'
import t from 'tap'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { QueryTimeout, type Store } from '../../src/core/store/store.js'
import { listen, testApp } from '../support/app.js'
import { getRequest, neverRead } from '../support/sockets.js'
import { A, fillTenants } from '../support/tenants.js'

t.test('a read is interrupted when its caller disconnects', async (t) => {
  const reads = new EventEmitter()
  const aggregate: Store['aggregate'] = async (_, { signal } = {}) => {
    reads.emit('begin', signal)
    await once(signal as AbortSignal, 'abort')
    throw signal?.reason
  }
  const { app, keyOf } = await testApp(t, { store: { ...embeddedStore(), aggregate } })
  const port = await listen(app)
  const authorization = `Bearer ${await keyOf(A)}`
  for (const path of ['/v1/entries', '/v1/entries/x']) {
    const begun = once(reads, 'begin')
    const socket = await neverRead(port, getRequest(path, { authorization }))
    const [signal] = (await begun) as [AbortSignal]
    t.notOk(signal.aborted, path)
    const aborted = once(signal, 'abort')
    socket.destroy()
    await aborted
  }
})

t.test('an empty list names the filters whose value no record has', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  const unmatchedOf = async (path: string) => (await get(`/v1/${path}`, A)).json()._metadata.unmatched
  for (const [path, unmatched] of [
    ['entries?status=nonsense', ['status']],
    ['entries?status=accepted&form=entry1-b&agent=x&cursor=*', ['form', 'agent']],
    ['dispatches?project=project9-x&total=false', ['project']],
    ['dispatches?agent=agent1-a&name=nonsense', undefined],
    ['entries?status=accepted&createdSince=2100-01-01T00:00:00Z', undefined],
    ['entries?status=nonsense&page=2', undefined],
    ['entries?status=accepted', undefined],
    ['agents?status=gone', ['status']],
    ['users?ids=nobody', undefined],
  ] as const) {
    t.same(await unmatchedOf(path), unmatched, path)
  }
})

t.test('a filter for which no record is found in time is not named, and other errors stay', async (t) => {
  for (const [error, status] of [
    [new QueryTimeout(undefined), 200],
    [new Error('broken'), 500],
  ] as const) {
    const plain = embeddedStore()
    const aggregate: Store['aggregate'] = async (...query) => {
      const { collection, stages } = query[0]
      if (collection === 'entries' && stages.some(({ $limit }) => $limit === 2)) throw error
      return plain.aggregate(...query)
    }
    const { get } = await testApp(t, { store: { ...plain, aggregate } })
    const response = await get('/v1/entries?status=nonsense', A)
    t.equal(response.statusCode, status)
    if (status === 200) t.equal(response.json()._metadata.unmatched, undefined)
  }
})
