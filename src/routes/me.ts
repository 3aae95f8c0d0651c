// GET /v1/me: the organisation of the caller's key, and its limits.
import type { FastifyInstance } from 'fastify'
import { MAX_IDS } from '../../schemas/common.js'
import { one } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import { Me } from '../../schemas/me.js'
import { MAX_WAIT_S } from '../../schemas/sync.js'
import { MAX_URL_BYTES } from '../problems/problems.js'
import { commonProblems, responses } from './responses.js'

export const meRoutes = (app: FastifyInstance): void => {
  const { maxPerPage: perPage, rateLimit, sync } = app.config
  const limits = {
    perPage,
    ids: MAX_IDS,
    wait: MAX_WAIT_S,
    ...(rateLimit !== undefined && { requestsPerMinute: rateLimit }),
    urlBytes: MAX_URL_BYTES,
    settleMs: sync.settleMs,
    tombstoneDays: sync.tombstoneDays,
  }
  app.get(
    '/me',
    {
      schema: {
        operationId: 'getMe',
        summary: 'Get the organisation and the limits of the key',
        description:
          'For a first request: whose data the key reads, what it does not see of them, when it expires, and the largest page, number of ids, wait and URL that the service accepts. For change feeds, it tells how long changes are held back and deletions are remembered. It costs almost nothing.',
        tags: ['Key'],
        querystring: strict({}),
        response: responses(one(Me), commonProblems),
      },
    },
    async ({ scope: { organisation, organisationName, keyId, keyName, expiresAt, without } }) => {
      const data: Me = {
        organisation: { id: organisation, name: organisationName },
        key: {
          id: keyId,
          name: keyName,
          ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
          ...(without && { without: [...without] }),
        },
        limits,
      }
      return { success: true, data }
    },
  )
}
