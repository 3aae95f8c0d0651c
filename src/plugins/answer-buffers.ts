// Gives the buffer of an answer back to the serializer once the answer was sent.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { giveBack } from '../serializer/output.js'
import { whenOver } from './caller.js'

export const answerBuffersPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onSend', (_request, reply, payload, next) => {
      if (payload instanceof Buffer) whenOver(reply, () => giveBack(payload))
      next()
    })
  },
  { name: 'answer-buffers', fastify: '5.x' },
)
