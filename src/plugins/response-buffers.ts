// Gives the buffer of a response back to the serializer once the response is sent. It is registered after the
// compression, which gives back the buffers that it has read itself.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from '../http/caller.js'
import { giveBack } from '../serializer/output.js'

export const responseBuffersPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onSend', (_request, reply, payload, next) => {
      if (payload instanceof Buffer) whenOver(reply, () => giveBack(payload))
      next()
    })
  },
  { name: 'response-buffers', fastify: '5.x' },
)
