// An orderly end: requests under way are answered, and then every connection is closed, also those on which a caller has
// sent nothing or half a request, which would hold the process for as long as they please.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

const LOOK_EVERY_MS = 20

export const closingPlugin = fp(
  async (app: FastifyInstance) => {
    let underway = 0
    app.addHook('onRequest', async (_request, { raw }) => {
      underway += 1
      raw.once('close', () => {
        underway -= 1
      })
    })
    app.addHook('preClose', async () => {
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
