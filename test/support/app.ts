// Applications for tests, built as the process builds them. Tests call them with inject() or over a socket.
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { buildApp } from '../../src/app.js'
import { type Config, loadConfig } from '../../src/config/config.js'
import { keysOf } from '../../src/keys/keys.js'
import type { Store } from '../../src/store/store.js'
import { testStore } from './store.js'

export const testConfig = (settings: Record<string, string> = {}): Config =>
  loadConfig({ LOG_LEVEL: 'silent', ...settings })

export interface TestApp {
  app: FastifyInstance
  store: Store
  /** An API key of the organisation, the same at every call. */
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
  }: {
    settings?: Record<string, string>
    fill?: (store: Store) => Promise<unknown>
    store?: Store
  } = {},
): Promise<TestApp> => {
  await fill?.(store)
  const app = await buildApp(testConfig(settings), store)
  t.teardown(() => app.close())
  const issued = new Map<string, Promise<string>>()
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const keyOf = (organisation: string) => {
    const key = issued.get(organisation) ?? keys.issue({ organisation, name: 'Test' })
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

/** Makes an application listen on a free port of the loopback address, and returns the port. */
export const listen = async (app: FastifyInstance): Promise<number> => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}
