// Tokens: opaque texts by which a caller goes on where it was. A token has a check sum, so that a garbled one is an error, and
// is bound to the request that made it. It holds a position and gives no rights, so it needs no secret.
import { hash } from 'node:crypto'
import type { Listing } from '../../../schemas/common.js'
import type { Scope } from '../pipelines/stages.js'
import { type ProblemError, problem } from '../problems/problems.js'
import { fromPayload, type Start, toPayload } from './position.js'

/** The `cursor` that begins a list or a feed. It is not a token. */
export const FIRST_CURSOR = '*'

/** What a token holds: values of JSON that are not nested. A token comes from outside, so check each value. */
export type Payload = readonly (string | number | boolean | null)[]

/** The first byte of a token. Increase it when a payload gets another meaning, so that older tokens are refused. */
const VERSION = 1
const SUM_BYTES = 8

/** A token for a payload, bound to what a later request must have too: organisation, operation and filters. */
export const encodeToken = (binding: readonly unknown[], payload: Payload): string => {
  const text = JSON.stringify(payload)
  return Buffer.concat([Buffer.of(VERSION), checkSum(binding, text), Buffer.from(text)]).toString('base64url')
}

/** The payload of a token. One that is garbled, or has another binding, throws the problem `invalid_cursor`. */
export const decodeToken = (parameter: string, binding: readonly unknown[], token: string): Payload => {
  const bytes = Buffer.from(token, 'base64url')
  const text = bytes.toString('utf8', 1 + SUM_BYTES)
  // The last comparison is necessary because Buffer.from() skips characters that are not Base64.
  const isSound =
    bytes[0] === VERSION &&
    bytes.subarray(1, 1 + SUM_BYTES).equals(checkSum(binding, text)) &&
    bytes.toString('base64url') === token
  const payload = isSound ? parsed(text) : undefined
  if (!isPayload(payload)) throw invalidCursor(parameter)
  return payload
}

export const invalidCursor = (parameter: string): ProblemError => {
  const remedy = parameter === 'cursor' ? 'begin again with cursor=*' : 'begin again without it and follow the links'
  const message = `is not a cursor that this operation gave for the same filters and order, and for a key that sees the same; ${remedy}`
  return problem('invalid_cursor', `${parameter} ${message}`, { errors: [{ in: 'query', name: parameter, message }] })
}

/** The tokens of a list, bound to organisation, operation, filters, order and view: others throw `invalid_cursor`. */
export const tokensOf = (scope: Scope, operationId: string, parameters: Partial<Listing>) => {
  const { page, perPage, total, fields, expand, embed, answers, unreadable, cursor, after, ...list } = parameters
  const binding = (parameter: string) => bindingOf(scope, operationId, parameter, Object.entries(list).sort())
  const [parameter, token] =
    after === undefined ? ['cursor', cursor === FIRST_CURSOR ? undefined : cursor] : ['after', after]
  const start = token === undefined ? undefined : fromPayload(decodeToken(parameter, binding(parameter), token))
  if (token !== undefined && start === undefined) throw invalidCursor(parameter)
  const encode = (parameter: 'cursor' | 'after', start: Start) => encodeToken(binding(parameter), toPayload(start))
  return { start, encode }
}

export const bindingOf = (
  { organisation, without = [], only }: Scope,
  ...rest: readonly unknown[]
): readonly unknown[] => [organisation, ...rest, ...without, ...(only === undefined ? [] : [only])]

const checkSum = (binding: readonly unknown[], text: string): Buffer =>
  Buffer.from(hash('sha256', JSON.stringify([binding, text]), 'hex').slice(0, 2 * SUM_BYTES), 'hex')

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isPayload = (value: unknown): value is Payload =>
  Array.isArray(value) && value.every((item) => item === null || ['string', 'number', 'boolean'].includes(typeof item))
