// Limits how many requests a minute one API key may send to this instance, and says in each response how many are left, by
// the header fields of the IETF (draft-ietf-httpapi-ratelimit-headers-11).
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Quota, WINDOW_S } from '../limits/quota.js'
import { problem } from '../problems/problems.js'

/** What a request costs. A part of it is given back if the caller had the response already. */
const COST = 1
const BACK_FOR_304 = 0.75

const plugin = async (app: FastifyInstance, { quota }: { quota: number }) => {
  const quotas = new Quota(quota)
  const policy = `"default";q=${quota};w=${WINDOW_S}`

  app.addHook('onRequest', ({ scope }, _reply, next) => {
    if (quotas.use(scope.keyId, COST)) return next()
    const headers = { 'retry-after': String(quotas.state(scope.keyId).seconds) }
    next(problem('rate_limited', `The rate limit of a key is ${quota} in ${WINDOW_S} s`, { headers }))
  })

  app.addHook('onSend', ({ scope }, reply, payload, next) => {
    // A request without a valid key has no scope.
    if (scope !== undefined) {
      if (reply.statusCode === 304) quotas.use(scope.keyId, -BACK_FOR_304)
      const { left, seconds } = quotas.state(scope.keyId)
      reply.headers({ 'ratelimit-policy': policy, ratelimit: `"default";r=${left};t=${seconds}` })
    }
    next(null, payload)
  })
}
export const rateLimitPlugin = fp(plugin, { name: 'rate-limit', fastify: '5.x', dependencies: ['key-auth'] })
