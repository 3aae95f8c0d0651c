// GET /health/live and GET /health/ready: for load balancers and orchestrators. They need no key.
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { success } from '../../schemas/envelope.js'
import { word } from '../../schemas/kit.js'
import { databaseProblems, problemResponses, requestProblems, response } from './responses.js'

const Health = Type.Object(
  {
    success,
    data: Type.Object(
      { status: word(['live', 'ready'], { title: 'HealthStatus', description: 'What the check found.' }) },
      { title: 'Health', description: 'The state of the service.' },
    ),
  },
  { title: 'HealthResponse' },
)

export const healthRoutes = (app: FastifyInstance): void => {
  /** The running ping of the database. Requests share it, because anyone may send as many of them as they like. */
  let ping: Promise<void> | undefined
  const pingOnce = (): Promise<void> => {
    ping ??= app.store.ping().finally(() => {
      ping = undefined
    })
    return ping
  }

  app.get(
    '/health/live',
    {
      schema: {
        operationId: 'getLive',
        summary: 'Whether the process is running',
        description: 'Asks nothing of the database.',
        tags: ['Health'],
        security: [],
        response: { 200: response(Health, 'The process is running.'), ...problemResponses(requestProblems) },
      },
    },
    async () => ({ success: true, data: { status: 'live' } }),
  )
  app.get(
    '/health/ready',
    {
      schema: {
        operationId: 'getReady',
        summary: 'Whether the database responds',
        description: 'Pings the database. Requests at the same time share one ping.',
        tags: ['Health'],
        security: [],
        response: {
          200: response(Health, 'The database responds.'),
          ...problemResponses([...requestProblems, ...databaseProblems]),
        },
      },
    },
    async () => {
      await pingOnce()
      return { success: true, data: { status: 'ready' } }
    },
  )
}
