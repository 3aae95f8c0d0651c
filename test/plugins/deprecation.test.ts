// An operation that is marked as deprecated says so in its responses and in the OpenAPI document.
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { problem } from '../../src/problems/problems.js'
import { responses } from '../../src/routes/responses.js'
import { testApp } from '../support/app.js'

t.test('a deprecated operation has both headers, with an error too, and is marked in the document', async (t) => {
  const { app } = await testApp(t)
  const schema = { tags: ['Health'], response: responses(Type.Object({}, { title: 'Old', description: 'd' }), []) }
  const deprecated = { since: new Date('2026-01-01T00:00:00Z'), sunset: new Date('2027-01-01T00:00:00Z') }
  app.get('/old', { schema: { ...schema, operationId: 'getOld' }, config: { deprecated } }, async () => ({}))
  app.get('/broken', { schema: { ...schema, operationId: 'getBroken' }, config: { deprecated } }, async () => {
    throw problem('internal_error', 'It failed')
  })
  for (const [url, statusCode] of [
    ['/old', 200],
    ['/broken', 500],
  ] as const) {
    const headers = { deprecation: '@1767225600', sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' }
    t.match(await app.inject(url), { statusCode, headers }, url)
    t.match(await app.inject({ url, method: 'HEAD' }), { statusCode, headers, body: '' }, `HEAD ${url}`)
  }
  const { headers } = await app.inject('/health/live')
  t.notOk('deprecation' in headers || 'sunset' in headers, 'other operations have neither')

  const { paths } = (await app.inject('/openapi.json')).json()
  t.equal(paths['/old'].get.deprecated, true)
  t.notOk('deprecated' in paths['/health/live'].get)
})
