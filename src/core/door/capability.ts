// What a capability is: a folder whose index.ts exports one of these, which src/capabilities.ts lists. Nothing else names it.
import type { FastifyInstance } from 'fastify'
import { sender } from './send.js'
import { type Route, register } from './table.js'
import type { Tool } from './tools.js'

export interface Tag {
  readonly name: string
  readonly description: string
  /** Whether its operations have the filters of lists. Then these are named after the list. */
  readonly hasFiltersOfLists?: true
}

export interface Capability {
  readonly tags?: readonly Tag[]
  /** Operations under /v1. */
  readonly routes?: (app: FastifyInstance) => readonly Route[]
  readonly tools?: Readonly<Record<string, Tool>>
  /** A door of its own beside /v1, for callers with a key. */
  readonly door?: (app: FastifyInstance, all: readonly Capability[]) => void
}

export const addOperations = (app: FastifyInstance, all: readonly Capability[]): void => {
  const send = sender(app)
  for (const { routes } of all) for (const route of routes?.(app) ?? []) register(app, send, route)
}
