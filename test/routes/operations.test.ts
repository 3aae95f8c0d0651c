// What lists and by-ids have in common: they end when their caller disconnects.
import { EventEmitter, once } from 'node:events'
import t, { type Test } from 'tap'
import { embeddedStore } from '../../src/store/embedded.js'
import type { Reading, Store } from '../../src/store/store.js'
import { listen, testApp } from '../support/app.js'
import { getRequest, neverRead } from '../support/sockets.js'
import { A } from '../support/tenants.js'

/** Serves a store with this `aggregate`. Returns what connects a caller that requests a path. */
const serve = async (t: Test, aggregate: (reading?: Reading) => Promise<unknown>) => {
  const store = { ...embeddedStore(), aggregate: (_, reading) => aggregate(reading) } as Store
  const { app, keyOf } = await testApp(t, { store })
  const port = await listen(app)
  const authorization = `Bearer ${await keyOf(A)}`
  return { call: (path: string) => neverRead(port, getRequest(path, { authorization })) }
}

t.test('the read of a list is interrupted when its caller disconnects', async (t) => {
  const reads = new EventEmitter()
  const { call } = await serve(t, async ({ signal } = {}) => {
    reads.emit('begin', signal)
    await once(signal as AbortSignal, 'abort')
    throw signal?.reason
  })
  const begun = once(reads, 'begin')
  const socket = await call('/v1/entries')
  const [signal] = (await begun) as [AbortSignal]
  t.notOk(signal.aborted)
  const aborted = once(signal, 'abort')
  socket.destroy()
  await aborted
})
