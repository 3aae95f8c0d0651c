// What runs the process asks whether it lives and whether it is ready; a store that fails is tested with the problems.
import t from 'tap'
import { testApp } from '../support/app.js'

t.test('the process is live, and ready while its store answers, to whoever asks', async (t) => {
  const { get } = await testApp(t)
  for (const status of ['live', 'ready']) {
    const response = await get(`/health/${status}`)
    t.equal(response.statusCode, 200)
    t.same(response.json(), { success: true, data: { status } })
  }
})
