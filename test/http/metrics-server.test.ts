// The server of /metrics: how it responds, and that its readers share the work.
import t, { type Test } from 'tap'
import { metricsServer } from '../../src/http/metrics-server.js'

const served = async (t: Test, text: () => Promise<string>, onError = (_error: unknown) => {}): Promise<string> => {
  const server = metricsServer(text, onError)
  t.teardown(() => server.close())
  return server.listen({ host: '127.0.0.1', port: 0 })
}

t.test('it responds to GET and HEAD of /metrics, and to nothing else', async (t) => {
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

t.test('readers at the same time share one reading, and a failure is a 500', async (t) => {
  let readings = 0
  let end = (_error?: Error) => {}
  const errors: unknown[] = []
  const text = () => {
    readings += 1
    return new Promise<string>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve(''))
    })
  }
  const url = await served(t, text, (error) => errors.push(error))
  const [first, second] = [fetch(`${url}/metrics`), fetch(`${url}/metrics`)]
  const finish = setInterval(() => readings > 0 && end(), 50)
  t.teardown(() => clearInterval(finish))
  t.same([(await first).status, (await second).status], [200, 200])
  t.equal(readings, 1)
  clearInterval(finish)
  const third = fetch(`${url}/metrics`)
  while (readings < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  end(new Error('secret'))
  t.same([(await third).status, await (await third).text()], [500, ''])
  t.match(errors, [{ message: 'secret' }])
})
