// Assistants: clients of the Model Context Protocol, the official one, and one that sends any message.
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'

/** The newest revision, and the one that clients of 2025 negotiate by themselves. */
export const REVISIONS = { modern: '2026-07-28', legacy: '2025-11-25' } as const

/** A fetch() whose requests an application gets by inject(). */
const injected =
  (app: FastifyInstance): typeof fetch =>
  async (input, { method, headers, body } = {}) => {
    const { pathname, host } = new URL(input instanceof Request ? input.url : input)
    const options = { method: (method ?? 'GET') as 'POST', url: pathname, payload: body as string }
    const sent = await app.inject({ ...options, headers: { host, ...Object.fromEntries(new Headers(headers)) } })
    const { statusCode: status, rawPayload } = sent
    return new Response(status === 202 ? null : new Uint8Array(rawPayload), { status, headers: sent.headers as never })
  }

export interface Assistant {
  readonly client: Client
  /** Calls a tool. Its results are checked against its output schema. */
  call(name: string, given?: object): Promise<CallToolResult>
  /** The result of a call that must succeed. */
  ask<T = Record<string, never>>(name: string, given?: object): Promise<T>
}

/** The official client, connected with a key. */
export const assistant = async (
  t: Test,
  service: FastifyInstance | string,
  key: string,
  revision: keyof typeof REVISIONS = 'legacy',
): Promise<Assistant> => {
  const mode = revision === 'legacy' ? 'legacy' : { pin: REVISIONS.modern }
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  const isUrl = typeof service === 'string'
  const url = new URL('/mcp', isUrl ? service : 'http://127.0.0.1')
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const transport = new StreamableHTTPClientTransport(url, { requestInit, ...(!isUrl && { fetch: injected(service) }) })
  await client.connect(transport)
  t.teardown(() => client.close())
  // The client knows the schemas of results from here.
  await client.listTools()
  const call = (name: string, given: object = {}) => client.callTool({ name, arguments: given as never })
  return {
    client,
    call,
    async ask(name, given) {
      const { content, structuredContent, isError } = await call(name, given)
      const [{ text }] = content as unknown as [{ text: string }]
      if (isError) throw new Error(text)
      t.same(JSON.parse(text), structuredContent, 'the text has the same as the structured content')
      return structuredContent as never
    },
  }
}

/** The errors of a call that must fail. */
export const errorOf = ({ content, isError, structuredContent }: CallToolResult) => {
  if (!isError || structuredContent !== undefined) throw new Error(`no error: ${JSON.stringify(content)}`)
  return JSON.parse((content as unknown as [{ text: string }])[0].text) as {
    error: string
    code: string
    errors?: { name: string; message: string; allowed?: string[] }[]
  }
}

/** The headers that every client sends. */
export const MCP_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A message of a revision of 2025. */
export const messageOf = (method: string, params: object = {}, id: number | undefined = 1) => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  method,
  params,
})
export const callOf = (name: string, given: object = {}) => messageOf('tools/call', { name, arguments: given })

/** Sends a message, or any other body. */
export const post = (
  app: FastifyInstance,
  body: unknown,
  headers: InjectOptions['headers'] = {},
): Promise<LightMyRequestResponse> =>
  app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { ...MCP_HEADERS, ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  })
