// A limit rather than a peer: the entry by id with this service's pipeline, store and serializer on a bare Fastify. It has
// no API key, no log, no plugins and no validation.
import Fastify from 'fastify'
import { Entry } from '../../schemas/entries.js'
import { one } from '../../schemas/envelope.js'
import { loadConfig } from '../../src/config/config.js'
import { openMongo } from '../../src/config/open-mongo.js'
import { entries } from '../../src/pipelines/entries.js'
import { serializerCompiler } from '../../src/serializer/compiler.js'
import { mongodbUri, organisation, port } from './environment.js'

const { mongo } = loadConfig({ MONGODB_URI: mongodbUri() })
const store = openMongo(mongo as NonNullable<typeof mongo>)
const scope = { organisation: organisation() }

const app = Fastify()
app.setSerializerCompiler(serializerCompiler)
app.get<{ Params: { id: string } }>(
  '/v1/entries/:id',
  { schema: { response: { 200: one(Entry) } } },
  async (request, reply) => {
    const { first } = await store.aggregate(entries.get(scope, request.params.id))
    return first === undefined ? reply.code(404).send() : { success: true, data: first }
  },
)
await app.listen({ port, host: '127.0.0.1' })
