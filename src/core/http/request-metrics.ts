// Measures the requests and their connections. It is registered only with METRICS_PORT.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Metrics } from '../metrics/catalogue.js'
import { wasSent, whenOver } from './caller.js'
import { openConnections } from './server.js'

/** The methods of RFC 9110 and RFC 5789. Callers may make up others, which have one name together. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])

const plugin = async (app: FastifyInstance, { metrics }: { metrics: Metrics }) => {
  metrics.observe('http.server.active_requests', () => app.activeRequests)
  metrics.observe('field_data.connections.open', () => openConnections(app.server))
  metrics.record('field_data.connections.refused', 0)
  app.server.on('drop', () => metrics.record('field_data.connections.refused', 1))

  app.addHook('onRequest', (request, reply, next) => {
    const { method, socket } = request
    const before = socket.bytesWritten
    const began = performance.now()
    whenOver(reply, () => {
      const { url } = request.routeOptions
      const route = url !== undefined && { 'http.route': url }
      const isSent = wasSent(reply)
      const error = isSent ? reply.problem?.code : 'aborted'
      metrics.record('http.server.request.duration', (performance.now() - began) / 1000, {
        'http.request.method': METHODS.has(method) ? method : '_OTHER',
        ...route,
        ...(request.called && { 'gen_ai.tool.name': request.called.tool }),
        ...(isSent && { 'http.response.status_code': reply.statusCode }),
        ...(error !== undefined && { 'error.type': error }),
      })
      if (!isSent || method === 'HEAD' || reply.statusCode === 304) return
      const size = reply.getHeader('content-length') ?? socket.bytesWritten - before
      metrics.record('http.server.response.body.size', Number(size), { ...route })
    })
    next()
  })
}
export const requestMetricsPlugin = fp(plugin, { name: 'request-metrics', fastify: '5.x', dependencies: ['closing'] })
