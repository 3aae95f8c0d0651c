// The server of /metrics: how it responds.
import t, { type Test } from 'tap'
import { metricsServer } from '../../../src/core/http/metrics-server.js'

const served = async (
  t: Test,
  text: () => Promise<string>,
  onError = (_error: unknown) => {},
  requireReady = async () => {},
): Promise<string> => {
  const server = metricsServer({ text, requireReady }, onError)
  t.teardown(() => server.close())
  return server.listen({ host: '127.0.0.1', port: 0 })
}

t.test('it tells whether the service is live and ready', async (t) => {
  let isReady = true
  const url = await served(
    t,
    async () => '',
    undefined,
    async () => {
      if (!isReady) throw new Error('the database is gone')
    },
  )
  const ask = async (path: string) => (await fetch(`${url}/health/${path}`)).status
  t.same([await ask('live'), await ask('ready')], [200, 200])
  isReady = false
  t.same([await ask('live'), await ask('ready')], [200, 503])
})

t.test('it responds to GET and HEAD of /metrics, and to nothing else but questions for the health', async (t) => {
  const url = await served(t, async () => 'up 1\n')
  const got = await fetch(`${url}/metrics?x=1`)
  t.equal(got.status, 200)
  t.equal(got.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(await got.text(), 'up 1\n')
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' })
  t.same([head.status, await head.text()], [200, ''])
  t.equal((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status, 404)
  for (const path of ['/', '/metrics/', '/v1/me', '//metrics']) t.equal((await fetch(url + path)).status, 404, path)
})

t.test('a failure is a 500 that tells nothing, and is told', async (t) => {
  const errors: unknown[] = []
  const text = () => Promise.reject(new Error('secret'))
  const url = await served(t, text, (error) => errors.push(error))
  const response = await fetch(`${url}/metrics`)
  t.same([response.status, await response.text()], [500, ''])
  t.match(errors, [{ message: 'secret' }])
})
