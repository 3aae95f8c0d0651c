// GET /health/live and GET /health/ready: for load balancers and orchestrators. They need no key.
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { success } from '../../../schemas/envelope.js'
import { word } from '../../../schemas/kit.js'
import { problem, RETRY_LATER } from '../problems/problems.js'
import { databaseProblems, requestProblems, responses } from './responses.js'

const Status = word(['live', 'ready'], { title: 'HealthStatus', description: 'What the check found.' })
const data = Type.Object({ status: Status }, { title: 'Health', description: 'The state of the service.' })
const Health = Type.Object({ success, data }, { title: 'HealthResponse' })

/** A function that throws unless the service takes requests. Calls at the same time share one ping, because anyone may ask. */
export const readiness = (app: FastifyInstance): (() => Promise<void>) => {
  let ping: Promise<void> | undefined
  return async () => {
    if (app.isLeaving) throw problem('service_unavailable', 'The service is about to stop', { headers: RETRY_LATER })
    ping ??= app.store.ping().finally(() => {
      ping = undefined
    })
    await ping
  }
}

export const healthRoutes = (app: FastifyInstance): void => {
  const health = (status: 'live' | 'ready', schema: FastifySchema, check?: () => Promise<void>): void => {
    app.get(`/health/${status}`, { schema: { tags: ['Health'], security: [], ...schema } }, async () => {
      await check?.()
      return { success: true, data: { status } }
    })
  }
  health('live', {
    operationId: 'getLive',
    summary: 'Whether the process is running',
    description: 'Asks nothing of the database.',
    response: responses(Health, requestProblems, { description: 'The process is running.' }),
  })
  const readyProblems = [...requestProblems, ...databaseProblems]
  const ready = {
    operationId: 'getReady',
    summary: 'Whether the service takes requests',
    description:
      'Fails when the service is about to stop. Otherwise the database has responded to a query within the last second, or responds to a ping. Requests at the same time share one ping.',
    response: responses(Health, readyProblems, { description: 'The database responds.' }),
  }
  health('ready', ready, readiness(app))
}
