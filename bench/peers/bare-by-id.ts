// A limit rather than a peer: the entry by id with this service's pipeline, store and serializer on a bare Fastify. It has
// no API key, no log, no plugins and no validation.
import Fastify from 'fastify'
import { loadConfig, openMongo } from '../../src/core/config/config.js'
import { entries } from '../../src/core/pipelines/entries.js'
import { projectionOf } from '../../src/core/read/projection.js'
import { Output } from '../../src/core/write/output.js'
import { compileDocuments } from '../../src/core/write/writer.js'
import { mongodbUri, organisation, port } from './environment.js'

const { mongo } = loadConfig({ MONGODB_URI: mongodbUri() })
const store = openMongo(mongo as NonNullable<typeof mongo>)
const scope = { organisation: organisation() }

const projection = projectionOf(entries, undefined, {}, 'record')
const write = projection.compiled(compileDocuments)

const app = Fastify()
app.get<{ Params: { id: string } }>('/v1/entries/:id', async (request, reply) => {
  const { documents } = await store.aggregate(projection.query(scope, [{ _id: request.params.id }], []))
  if (documents[0] === undefined) return reply.code(404).send()
  const out = new Output()
  out.text('{"success":true,"data":')
  write(documents[0], out)
  out.text('}')
  return reply.type('application/json; charset=utf-8').send(out.take())
})
await app.listen({ port, host: '127.0.0.1' })
