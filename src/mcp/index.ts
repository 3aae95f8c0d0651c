// POST /mcp: an assistant may ask, and sees no more than its key (Model Context Protocol, Streamable HTTP, stateless).
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { baseOf } from '../plugins/address.js'
import { version } from '../release.js'
import { type Ask, parametersOf, ToolError, tools } from './tools.js'

/** The most bytes of text that a tool gives. */
const MOST_BYTES = 64 * 1024
/** The operations check the arguments, so that an error is that of the operation. */
const checkedLater = { getValidator: () => (data: unknown) => ({ valid: true as const, data: data as never }) }

/** What a tool needs of the request that calls it. */
interface Caller {
  readonly ask: Ask
  readonly base: string
}

export const mcpRoutes = (app: FastifyInstance): void => {
  const serverFor = ({ ask, base }: Caller): McpServer => {
    const server = new McpServer({ name: 'field-data-api', version })
    for (const [name, tool] of Object.entries(tools)) {
      const { description, result, required = [] } = tool
      const input = { type: 'object', properties: tool.arguments, required, additionalProperties: false }
      server.registerTool(
        name,
        {
          description,
          inputSchema: fromJsonSchema(input as never, checkedLater as never),
          outputSchema: fromJsonSchema(result as never),
          annotations: { readOnlyHint: true },
        },
        async (given: unknown) => shown(() => tool.call(ask, given as Record<string, unknown>, base)),
      )
    }
    return server
  }

  // Each request has a server of its own, with the key of its caller.
  const handler = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra as unknown as Caller), {
    responseMode: 'json',
  })
  app.addHook('onClose', () => handler.close())

  app.post('/mcp', { schema: { hide: true }, bodyLimit: MOST_BYTES }, async (request, reply) => {
    const caller: Caller = { ask: askerOf(app, request), base: baseOf(request, app.config.publicUrl) }
    const { body, headers } = request
    const asked = new Request(`http://localhost${request.url}`, {
      method: 'POST',
      headers: Object.entries(headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value]] : [],
      ) as never,
      body: JSON.stringify(body),
    })
    const response = await handler.fetch(asked, {
      parsedBody: body,
      authInfo: { token: '', clientId: request.scope.keyId, scopes: [], extra: { ...caller } },
    })
    reply.code(response.status)
    for (const [name, value] of response.headers) reply.header(name, value)
    return reply.send(Buffer.from(await response.arrayBuffer()))
  })
}

/** Asks operations of the service with the key of a request, past all that guards them. */
const askerOf =
  (app: FastifyInstance, { headers }: FastifyRequest): Ask =>
  async (path, query = {}) => {
    const { authorization = '' } = headers
    const url = `/v1/${path}?${parametersOf(query)}`
    const response = await app.inject({ url, headers: { authorization, host: String(headers.host) } })
    const body = response.json()
    if (response.statusCode !== 200) throw new ToolError(body.detail, body.errors)
    return body
  }

/** The result of a tool, cut where it is too long. */
const shown = async (call: () => Promise<Record<string, unknown>>) => {
  try {
    const result = await call()
    const structuredContent = fitting(result)
    return { content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }], structuredContent }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    const text = JSON.stringify({ error: error.message, errors: error.errors })
    return { content: [{ type: 'text' as const, text }], isError: true }
  }
}

/** The rows that fit, with what is said of the others. */
const fitting = (result: Record<string, unknown>): Record<string, unknown> => {
  if (JSON.stringify(result).length <= MOST_BYTES) return result
  const [name, rows] = Object.entries(result).find(([, value]) => Array.isArray(value)) as [string, unknown[]]
  const some = rows.slice(0, Math.floor(rows.length / 2))
  const truncated = `${name} has ${some.length} of more: ask for less, with filters, fewer fields or a smaller limit`
  return fitting({ ...result, [name]: some, truncated })
}
