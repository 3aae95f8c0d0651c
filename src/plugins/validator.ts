// The validator compiler of the application: the parameters of a request are checked by their schema, and a fault names
// the parameter, what is wrong with it and what is allowed.
import type { TObject } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'
import { problem } from '../problems.js'
import { type InvalidInput, textChecker } from '../validation.js'

const places: Record<string, 'query' | 'path'> = { querystring: 'query', params: 'path' }

export const validatorCompiler: FastifySchemaCompiler<TObject> = ({ schema, httpPart }) => {
  const check = textChecker(schema)
  const place = places[httpPart as string] as 'query' | 'path'
  return (input) => {
    try {
      return { value: check(input) }
    } catch (error) {
      const { message, faults } = error as InvalidInput
      const errors = faults.map((fault) => ({ in: place, ...fault }))
      return { error: problem('invalid_parameter', message, { errors }) }
    }
  }
}
