// GET /health/live and GET /health/ready: for load balancers and orchestrators. They need no key.
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { literals } from '../../schemas/kit.js'
import { databaseProblems, problemResponses, requestProblems, response } from './responses.js'

const Health = (status: 'live' | 'ready', description: string) =>
  Type.Object(
    {
      success: Type.Boolean({ const: true, description: 'True in every successful response.', examples: [true] }),
      data: Type.Object({ status: literals([status], { description }) }, { description }),
    },
    { description },
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
        response: { 200: response(Health('live', 'The process is running.')), ...problemResponses(requestProblems) },
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
          200: response(Health('ready', 'The database responds.')),
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
