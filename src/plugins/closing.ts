// An orderly end: requests under way get their responses, and then every connection is closed, also those on which a caller has
// sent nothing or half a request, which would hold the process for as long as they please.
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from '../http/caller.js'

const LOOK_EVERY_MS = 50
/** How many looks a service that is never without news takes before it closes all the same. */
const MOST_LOOKS = 20

export const closingPlugin = fp(
  async (app: FastifyInstance) => {
    let underway = 0
    let seen = 0
    app.addHook('onRequest', (_request, reply, next) => {
      underway += 1
      seen += 1
      whenOver(reply, () => {
        underway -= 1
      })
      next()
    })
    app.addHook('preClose', async () => {
      // What has arrived may not have been read yet, and is lost when the listening ends: first a moment without news.
      for (let looks = 0, seenBefore = -1; looks < MOST_LOOKS && (underway > 0 || seen > seenBefore); looks++) {
        seenBefore = seen
        await setTimeout(LOOK_EVERY_MS)
      }
      const look = setInterval(() => {
        if (underway > 0) return
        app.server.closeAllConnections()
        clearInterval(look)
      }, LOOK_EVERY_MS)
      look.unref()
    })
  },
  { name: 'closing', fastify: '5.x' },
)
