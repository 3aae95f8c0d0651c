// The validator compiler of the application: the parameters of a request are checked by their schema, and a fault names
// the parameter, what is wrong with it and what is allowed.
import type { TObject } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'
import { problem } from '../http/problems.js'
import { type InvalidInput, textChecker } from './text.js'

/** How many faults are told. Each may list all that is allowed, so that a short URL could ask for a long response. */
const MOST_FAULTS = 10

const places: Record<string, 'query' | 'path'> = { querystring: 'query', params: 'path' }

export const validatorCompiler: FastifySchemaCompiler<TObject> = ({ schema, httpPart }) => {
  const check = textChecker(schema)
  const place = places[httpPart as string] as 'query' | 'path'
  return (input) => {
    try {
      return { value: check(input) }
    } catch (error) {
      const { faults } = error as InvalidInput
      const errors = faults.slice(0, MOST_FAULTS).map((fault) => ({ in: place, ...fault }))
      const messages = errors.map(({ name, message }) => `${name} ${message}`)
      const more = faults.length - errors.length
      const detail = [...messages, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
      return { error: problem('invalid_parameter', detail, { errors }) }
    }
  }
}
