// GET /health/live and GET /health/ready: for what runs the process; they need no key.
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { literals } from '../../schemas/kit.js'
import { answer, databaseProblems, problemAnswers, requestProblems } from './answers.js'

const Health = (status: 'live' | 'ready', description: string) =>
  Type.Object(
    {
      success: Type.Boolean({ const: true, description: 'True in every successful answer.', examples: [true] }),
      data: Type.Object({ status: literals([status], { description }) }, { description }),
    },
    { description },
  )

export const healthRoutes = (app: FastifyInstance): void => {
  /** The question to the database that is under way: it needs no key, so all who ask meanwhile share it. */
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
        summary: 'Whether the process runs',
        tags: ['Health'],
        security: [],
        response: { 200: answer(Health('live', 'The process runs.')), ...problemAnswers(requestProblems) },
      },
    },
    async () => ({ success: true, data: { status: 'live' } }),
  )
  app.get(
    '/health/ready',
    {
      schema: {
        operationId: 'getReady',
        summary: 'Whether the database answers',
        tags: ['Health'],
        security: [],
        response: {
          200: answer(Health('ready', 'The database answers.')),
          ...problemAnswers([...requestProblems, ...databaseProblems]),
        },
      },
    },
    async () => {
      await pingOnce()
      return { success: true, data: { status: 'ready' } }
    },
  )
}
