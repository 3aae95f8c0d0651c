// An orderly end: requests under way are answered, and then every connection is closed, also those on which a caller has
// sent nothing or half a request, which would hold the process for as long as they please.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

const LOOK_EVERY_MS = 50

export const closingPlugin = fp(
  async (app: FastifyInstance) => {
    let underway = 0
    let seen = 0
    app.addHook('onRequest', async (_request, { raw }) => {
      underway += 1
      seen += 1
      raw.once('close', () => {
        underway -= 1
      })
    })
    app.addHook('preClose', async () => {
      let seenBefore = -1
      const look = setInterval(() => {
        // What has arrived may not have been read yet: the end comes when a whole interval brought nothing new.
        const isQuiet = underway === 0 && seen === seenBefore
        seenBefore = seen
        if (!isQuiet) return
        app.server.closeAllConnections()
        clearInterval(look)
      }, LOOK_EVERY_MS)
      look.unref()
    })
  },
  { name: 'closing', fastify: '5.x' },
)
