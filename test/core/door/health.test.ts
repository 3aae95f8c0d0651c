// Liveness and readiness. A store that fails is tested with the problems.
import t from 'tap'
import { testApp } from '../../support/app.js'

t.test('without a key, the process reports that it is live, and ready while its store responds', async (t) => {
  const { get } = await testApp(t)
  for (const status of ['live', 'ready']) {
    const response = await get(`/health/${status}`)
    t.equal(response.statusCode, 200)
    t.same(response.json(), { success: true, data: { status } })
  }
})

t.test('before it stops, the process is live but not ready', async (t) => {
  const { app, get } = await testApp(t)
  app.isLeaving = true
  t.equal((await get('/health/live')).statusCode, 200)
  const ready = await get('/health/ready')
  t.equal(ready.statusCode, 503)
  t.match(ready.json(), { code: 'service_unavailable', detail: 'The service is about to stop' })
})
