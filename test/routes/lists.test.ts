// What lists and by-ids have in common: they end when their caller disconnects.
import { EventEmitter, once } from 'node:events'
import t from 'tap'
import { embeddedStore } from '../../src/store/embedded.js'
import type { Store } from '../../src/store/store.js'
import { listen, testApp } from '../support/app.js'
import { getRequest, neverRead } from '../support/sockets.js'
import { A } from '../support/tenants.js'

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
