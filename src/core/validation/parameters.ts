// The validator compiler of the application: it checks parameters against their schema, and turns what is wrong into a problem.
import type { TObject } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'
import { type ProblemError, problem } from '../problems/problems.js'
import { textChecker } from './text.js'

/** How many errors a response lists. Each may list all allowed values, so a short URL could cause a long response. */
const MAX_ERRORS = 10

export const validatorCompiler: FastifySchemaCompiler<TObject> = ({ schema, httpPart }) =>
  parameterChecker(schema, httpPart === 'params' ? 'path' : 'query')

/** Compiles a check that gives the values of parameters, or the problem. @param place where they are in the request */
export const parameterChecker = (schema: TObject, place: 'query' | 'path' = 'query') => {
  const check = textChecker(schema)
  return (input: Readonly<Record<string, unknown>>): { value: unknown } | { error: ProblemError } => {
    const checked = check(input)
    if ('value' in checked) return checked
    const errors = checked.errors.slice(0, MAX_ERRORS).map((error) => ({ in: place, ...error }))
    const messages = errors.map(({ name, message }) => `${name} ${message}`)
    const more = checked.errors.length - errors.length
    const detail = [...messages, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
    return { error: problem('invalid_parameter', detail, { errors }) }
  }
}
