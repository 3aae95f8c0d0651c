// Gives the buffer of an answer back to the serializer once the answer was sent.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { giveBack } from '../serializer/output.js'

export const answerBuffersPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onSend', (_request, { raw }, payload, next) => {
      // 'close' comes when the last byte was handed to the system, or the connection is gone.
      if (payload instanceof Buffer) raw.once('close', () => giveBack(payload))
      next()
    })
  },
  { name: 'answer-buffers', fastify: '5.x' },
)
