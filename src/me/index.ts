// GET /v1/me: the organisation of the caller's key, and its limits.
import { MAX_IDS, MAX_URL_BYTES } from '../../schemas/common.js'
import { one } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import { Me, type Me as Own } from '../../schemas/me.js'
import { MAX_WAIT_S } from '../../schemas/sync.js'
import type { Config } from '../core/config/config.js'
import type { Capability, Route } from '../core/door/capability.js'

const meRoute = ({ maxPerPage, rateLimit, sync }: Config): Route => {
  const limits = {
    perPage: maxPerPage,
    ids: MAX_IDS,
    wait: MAX_WAIT_S,
    ...(rateLimit !== undefined && { requestsPerMinute: rateLimit }),
    urlBytes: MAX_URL_BYTES,
    settleMs: sync.settleMs,
    tombstoneDays: sync.tombstoneDays,
  }
  return {
    path: '/me',
    operationId: 'getMe',
    summary: 'Get the organisation and the limits of the key',
    description:
      'For a first request: whose data the key reads, what it does not see of them, when it expires, and the largest page, number of ids, wait and URL that the service accepts. For change feeds, it tells how long changes are held back and deletions are remembered. It costs almost nothing.',
    tag: 'Key',
    query: strict({}),
    response: one(Me),
    operation(_reader, _asked, { organisation, organisationName, keyId, keyName, expiresAt, without, only }) {
      const data: Own = {
        organisation: { id: organisation, name: organisationName },
        key: {
          id: keyId,
          name: keyName,
          ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
          ...(without && { without: [...without] }),
          ...(only && { only }),
        },
        limits,
      }
      return { value: { success: true, data } }
    },
  }
}

export const me: Capability = {
  tags: [{ name: 'Key', description: 'What the key of a request may read' }],
  routes: ({ config }) => [meRoute(config)],
}
