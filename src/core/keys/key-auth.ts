// Finds the organisation of a request by its API key, and by nothing else. The key is a bearer token (RFC 6750, section
// 2.1), or the password of HTTP Basic (RFC 7617), for programs that have a safe place for a password alone.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { problem } from '../problems/problems.js'
import { type KeyScope, type Keys, REFUSALS, type RefusedKey } from './keys.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Checks the key again after a long time, as it may have ended. @throws the problem `unauthorized` */
    requireKey(request: FastifyRequest, reply: FastifyReply): Promise<void>
  }
  interface FastifyRequest {
    /** Set by this plugin before the handler of a route runs. */
    scope: KeyScope
    /** Why its key was refused, and of whom it is. */
    refused?: RefusedKey
  }
}

const LONG_MS = 200
/** How long before its end the responses to a key say when it ends, and the metrics count it. */
const WARNING_MS = 14 * 86_400_000
const BEARER = /^Bearer +(\S+)$/i
const BASIC = /^Basic +([A-Za-z\d+/]+={0,2})$/i
const BASIC_CHALLENGE = 'Basic realm="field-data-api", charset="UTF-8"'
/** RFC 7617, section 2, forbids them in both parts. */
const CONTROL = /\p{Cc}/u

const plugin = async (app: FastifyInstance, { keys }: { keys: Keys }) => {
  app.decorateRequest('scope')
  for (const reason of REFUSALS) app.metrics?.record('field_data.keys.refused', 0, { reason })
  app.metrics?.observe('field_data.keys.ending', () => keys.ending(WARNING_MS))
  const requireKey = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const found = await keys.verify(keyIn(request.headers.authorization ?? ''), request.ip)
    // The response is the same whatever is wrong, so that it reveals nothing about a key.
    if ('refused' in found) {
      request.refused = found
      app.metrics?.record('field_data.keys.refused', 1, { reason: found.refused })
      reply.header('www-authenticate', challenges(request))
      throw problem(
        'unauthorized',
        'A valid API key is needed: Authorization: Bearer <API_KEY>, or HTTP Basic with the key as the password',
      )
    }
    const ends = found.expiresAt?.getTime()
    // A date of structured fields (RFC 9651), as in Deprecation.
    if (ends !== undefined && ends - Date.now() < WARNING_MS)
      reply.header('api-key-expires', `@${Math.floor(ends / 1000)}`)
    request.scope = found
  }
  app.decorate('requireKey', async (request, reply) => {
    if (reply.elapsedTime > LONG_MS) await requireKey(request, reply)
  })
  app.addHook('onRequest', requireKey)
}
export const keyAuthPlugin = fp(plugin, { name: 'key-auth', fastify: '5.x' })

/** What is given as a key; empty if there is nothing. */
const keyIn = (authorization: string): string => {
  const credentials = BASIC.exec(authorization)?.[1]
  return (credentials === undefined ? BEARER.exec(authorization)?.[1] : keyInBasic(credentials)) ?? ''
}

/** The password, whatever the user name is, or the user name if the password is empty or missing. */
const keyInBasic = (credentials: string): string | undefined => {
  const bytes = Buffer.from(credentials, 'base64')
  const text = bytes.toString()
  // Buffer.from() skips what is not Base64.
  if (bytes.toString('base64') !== credentials || CONTROL.test(text)) return undefined
  const [user, ...password] = text.split(':')
  return password.join(':') || user
}

/**
 * How to give a key. At a Basic challenge a browser shows its dialog, which nobody wants over a page that calls the
 * service. Each challenge has a field line of its own, because some programs look only at the beginning of a line.
 */
const challenges = ({ headers: { 'sec-fetch-mode': mode = 'navigate' } }: FastifyRequest): string[] =>
  mode === 'navigate' ? ['Bearer', BASIC_CHALLENGE] : ['Bearer']
