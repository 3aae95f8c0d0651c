// The tokens of a list's pages: a cursor, by which a walk goes on, and the position of a page, to which its neighbours link.
import type { Listing } from '../../../schemas/common.js'
import type { Scope } from '../pipelines/stages.js'
import { fromPayload, type Start, toPayload } from './position.js'
import { bindingOf, decodeToken, encodeToken, FIRST_CURSOR, invalidCursor } from './token.js'

export type PageTokens = ReturnType<typeof tokensOf>

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
