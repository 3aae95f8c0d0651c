// Applications for tests, built as the process builds them. Tests call them with inject() or over a socket. inject()
// fails if the response is a problem that its operation does not declare.
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { buildApp } from '../../src/app.js'
import { type Config, loadConfig } from '../../src/core/config/config.js'
import { keysOf } from '../../src/core/keys/keys.js'
import type { Store } from '../../src/core/store/store.js'
import type { LogStream } from '../../src/log.js'
import { testStore } from './store.js'

export const testConfig = (settings: Record<string, string> = {}): Config =>
  loadConfig({ LOG_LEVEL: 'silent', EXPLORE: 'false', ...settings })

export interface TestApp {
  app: FastifyInstance
  store: Store
  /** An API key of the organisation, which is added if it does not exist. The key is the same at every call. */
  keyOf(organisation: string): Promise<string>
  /** Sends a GET request with a key of the organisation, or without a key if `organisation` is undefined. */
  get(url: string, organisation?: string, options?: InjectOptions): Promise<LightMyRequestResponse>
}

/** Builds an application over a store, after `fill` has inserted its data. */
export const testApp = async (
  t: Test,
  {
    settings,
    fill,
    store = testStore(t),
    log,
  }: {
    settings?: Record<string, string>
    fill?: (store: Store) => Promise<unknown>
    store?: Store
    log?: LogStream
  } = {},
): Promise<TestApp> => {
  await fill?.(store)
  const app = await buildApp(testConfig(settings), store, log)
  t.teardown(() => app.close())
  requireDeclaredProblems(app)
  const issued = new Map<string, Promise<string>>()
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const issue = async (organisation: string) => {
    const now = new Date()
    const recorded = { _id: organisation, name: 'Organisation', createdAt: now, updatedAt: now }
    await store.insert('organisations', [recorded], { skipTaken: true })
    return keys.issue({ organisation, name: 'Test' })
  }
  const keyOf = (organisation: string) => {
    const key = issued.get(organisation) ?? issue(organisation)
    issued.set(organisation, key)
    return key
  }
  return {
    app,
    store,
    keyOf,
    async get(url, organisation, options = {}) {
      const authorization = organisation && `Bearer ${await keyOf(organisation)}`
      return app.inject({ url, ...options, headers: { ...(authorization && { authorization }), ...options.headers } })
    },
  }
}

/**
 * The codes of the problems that each operation declares, by a pattern of its path. They are the same in all
 * applications.
 */
let declared: readonly (readonly [RegExp, ReadonlySet<string>])[] | undefined

interface Described {
  $ref?: string
  content?: Record<string, { examples?: object }>
}

interface Document {
  paths: Record<string, { get: { responses: Record<string, Described> } }>
  components: { responses: Record<string, Described> }
}

const declaredBy = (app: FastifyInstance): NonNullable<typeof declared> => {
  const { paths, components } = app.swagger() as unknown as Document
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const responses = Object.values(get.responses).map((response) =>
      response.$ref === undefined ? response : components.responses[response.$ref.replace(/.*\//, '')],
    )
    const codes = responses.flatMap((response) =>
      Object.keys(response?.content?.['application/problem+json']?.examples ?? {}),
    )
    // Every operation of the service declares some. One that a test adds may declare none.
    return codes.length === 0 ? [] : [[new RegExp(`^${path.replace(/\{\w+\}/, '[^/]*')}$`), new Set(codes)]]
  })
}

/** Makes inject() fail if the response to a GET request is a problem that its operation does not declare. */
const requireDeclaredProblems = (app: FastifyInstance): void => {
  const inject = app.inject.bind(app)
  const checked = async (request: InjectOptions | string): Promise<LightMyRequestResponse> => {
    const { url, method = 'GET' } = typeof request === 'string' ? { url: request } : request
    const response = await inject(request)
    const path = String(url).split('?')[0] as string
    const { 'content-type': type = '', 'content-encoding': coding } = response.headers
    if (method !== 'GET' || !String(type).startsWith('application/problem+json') || coding) return response
    declared ??= declaredBy(app)
    const codes = declared.find(([pattern]) => pattern.test(path))?.[1]
    const { code } = response.json()
    if (codes?.has(code) === false) {
      throw new Error(`GET ${path} gave ${code}, which its operation does not declare`)
    }
    return response
  }
  app.inject = checked as typeof app.inject
}

/** Makes an application listen on a free port of the loopback address, and returns the port. */
export const listen = async (app: FastifyInstance): Promise<number> => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}
