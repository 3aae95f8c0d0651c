// Refuses a request by a key that does not see everything, if a parameter tells of what it does not see: a filter by a
// hidden field, or the name of one. Otherwise its values could be guessed, one request after the other.
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { annotationOf, type Hidden, hideable, isHidden } from '../../../schemas/kit.js'
import type { Without } from '../../../schemas/views.js'
import { type ProblemError, problem } from '../problems/problems.js'

const plugin = async (app: FastifyInstance) => {
  app.addHook('onRoute', (route) => {
    const { querystring } = route.schema as { querystring: TObject }
    if (!Object.values(querystring.properties).some(canTell)) return
    route.preHandler = ({ scope: { without }, query }, _reply, next) => {
      next(hiddenProblem(querystring, query as Values, without))
    }
  })
}
const dependencies = ['key-auth']
export const hiddenParametersPlugin = fp(plugin, { name: 'hidden-parameters', fastify: '5.x', dependencies })

type Values = Readonly<Record<string, unknown>>

export const hiddenProblem = ({ properties }: TObject, values: Values, without: Without): ProblemError | undefined => {
  if (without === undefined) return undefined
  const errors = Object.entries(properties).flatMap(([name, schema]) => {
    const value = values[name]
    const fault = value === undefined ? undefined : faultOf(schema, value, without)
    return fault === undefined ? [] : [{ in: 'query', name, ...fault }]
  })
  if (errors.length === 0) return undefined
  return problem('invalid_parameter', errors.map(({ name, message }) => `${name} ${message}`).join('; '), { errors })
}

/** Whether a parameter can tell of something that a key does not see. */
const canTell = (schema: TSchema): boolean =>
  [schema, ...Object.values(annotationOf(schema).choices ?? {})].some((each) => isHidden(each, hideable))

type Fault = { message: string; allowed?: string[] }

/** What is wrong with the value of a parameter, and what is allowed if it names fields. */
const faultOf = (schema: TSchema, value: unknown, without: readonly Hidden[]): Fault | undefined => {
  if (isHidden(schema, without)) return { message: 'is not visible to this key' }
  const [hidden, allowed]: [string[], string[]] = [[], []]
  for (const [name, property] of Object.entries(annotationOf(schema).choices ?? {})) {
    ;(isHidden(property, without) ? hidden : allowed).push(name)
  }
  const given = hidden.filter((name) => [value].flat().includes(name))
  if (given.length === 0) return undefined
  return { message: `has ${given.join(', ')}, which is not visible to this key`, allowed }
}
