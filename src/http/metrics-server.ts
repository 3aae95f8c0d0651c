// The HTTP server of /metrics, on a port of its own, so that no caller of the API reaches it.
import { createServer, type Server } from 'node:http'

/** Who reads metrics is one program or a few. */
const MAX_CONNECTIONS = 16
const REQUEST_MS = 10_000
const TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * @param text makes the metrics. Requests at the same time share it
 * @param onError is told why it failed
 */
export const metricsServer = (text: () => Promise<string>, onError: (error: unknown) => void): Server => {
  let running: Promise<string> | undefined
  const read = (): Promise<string> => {
    running ??= text().finally(() => {
      running = undefined
    })
    return running
  }
  const server = createServer(
    { headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS },
    async ({ method, url = '' }, response) => {
      const end = (status: number, headers: Record<string, string> = {}, body?: string) =>
        response.writeHead(status, headers).end(body)
      if (url.split('?')[0] !== '/metrics') end(404)
      else if (method !== 'GET' && method !== 'HEAD') end(405, { allow: 'GET, HEAD' })
      else {
        await read().then(
          (body) => end(200, { 'content-type': TYPE }, body),
          (error) => {
            onError(error)
            end(500)
          },
        )
      }
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(REQUEST_MS)
  // The process ends when the service has closed, whoever reads metrics then.
  return server.unref()
}
