// Answers are JSON: a caller that takes no JSON is told so. Also the headers that are the same on every answer.
import accepts from '@fastify/accepts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { problem } from '../problems.js'

/** What answers are, in the ways that callers ask for it. */
const TYPES = ['application/json', 'application/json;charset=utf-8']

export const jsonOnlyPlugin = fp(
  async (app: FastifyInstance) => {
    await app.register(accepts)
    app.addHook('onRequest', async (request, reply) => {
      reply.headers({
        'cache-control': 'private, no-cache',
        vary: 'authorization, accept',
        'x-content-type-options': 'nosniff',
      })
      if (request.accepts().type(TYPES) === false) {
        throw problem('not_acceptable', 'Answers are application/json', {
          errors: [
            { in: 'header', name: 'Accept', message: 'excludes application/json', allowed: ['application/json'] },
          ],
        })
      }
    })
  },
  { name: 'json-only', fastify: '5.x' },
)
