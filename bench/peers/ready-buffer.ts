// A limit rather than a peer: a bare Fastify that sends the bytes of a response that it has fetched from the service once.
import Fastify from 'fastify'
import { port, service } from './environment.js'

const { url, key } = service()
const responses = new Map<string, Buffer>()

const app = Fastify()
app.get('/v1/*', async (request, reply) => {
  let ready = responses.get(request.url)
  if (ready === undefined) {
    const response = await fetch(url + request.url, { headers: { authorization: `Bearer ${key}` } })
    ready = Buffer.from(await response.arrayBuffer())
    responses.set(request.url, ready)
  }
  return reply.type('application/json; charset=utf-8').send(ready)
})
await app.listen({ port, host: '127.0.0.1' })
