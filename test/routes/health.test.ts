// Liveness and readiness. A store that fails is tested with the problems.
import t from 'tap'
import { testApp } from '../support/app.js'

t.test('without a key, the process reports that it is live, and ready while its store responds', async (t) => {
  const { get } = await testApp(t)
  for (const status of ['live', 'ready']) {
    const response = await get(`/health/${status}`)
    t.equal(response.statusCode, 200)
    t.same(response.json(), { success: true, data: { status } })
  }
})
