// The HTTP server of /metrics, on a port of its own, so that no caller of the API reaches it. It tells of the health too, since
// connections of callers do not keep others waiting here.
import Fastify, { type FastifyInstance } from 'fastify'

/** Who reads metrics and asks for the health is one program or a few. */
const MAX_CONNECTIONS = 16
const REQUEST_MS = 10_000
const TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** @param onError is told why the metrics could not be made */
export const metricsServer = (
  { text, requireReady }: { text: () => Promise<string>; requireReady: () => Promise<void> },
  onError: (error: unknown) => void,
): FastifyInstance => {
  const app = Fastify({ requestTimeout: REQUEST_MS, connectionTimeout: REQUEST_MS, forceCloseConnections: true })
  app.server.maxConnections = MAX_CONNECTIONS
  app.get('/metrics', async (_request, reply) => reply.type(TYPE).send(await text()))
  app.get('/health/live', async () => 'live')
  app.get('/health/ready', async (_request, reply) => {
    await requireReady().catch(() => void reply.code(503))
    return reply.statusCode === 503 ? 'not ready' : 'ready'
  })
  app.setErrorHandler((error, _request, reply) => {
    onError(error)
    reply.code(500).send()
  })
  // The process ends when the service has closed, whoever reads metrics then.
  app.server.unref()
  return app
}
