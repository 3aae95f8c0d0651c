// Gives the parts of the OpenAPI document names: what several operations have in common stands once, under `components`, and
// generated clients call it by that name. Adds what the schemas of the routes do not have: examples and If-None-Match.
import { readFileSync } from 'node:fs'
import { PROBLEM_TYPE } from '../problems/problems.js'

/** What the service sends with the demo data: responses by operation, problems by code. `npm run openapi` writes it. */
const EXAMPLES = new URL('../../../../pages/openapi-examples.json', import.meta.url)

type Node = Record<string, unknown>

interface Parameter {
  name: string
  in: string
  schema: Node
  explode?: unknown
  [field: string]: unknown
}
interface Response {
  headers: Record<string, Node>
  content?: Record<string, { schema: Node; example?: unknown; examples?: Record<string, { value: unknown }> }>
}
interface Operation {
  operationId: string
  tags: string[]
  parameters?: (Parameter | { $ref: string })[]
  responses: Record<string, Response | { $ref: string }>
}
export interface Document {
  paths: Record<string, { get: Operation }>
  components: Record<string, Record<string, Node>>
}

const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The `ETag` of an earlier response. If the response is still the same, you get a 304 without a body.',
}

/**
 * The document with its parts under `components`. The given one stays as it is.
 * @param borrowing the tags whose operations have the filters of lists
 */
export const withComponents = (described: object, borrowing: readonly string[]): Document => {
  // The copy has no object twice, so that YAML needs no aliases.
  const document = JSON.parse(JSON.stringify(described)) as Document
  const { paths, components } = document
  const operations = Object.values(paths).map(({ get }) => get)
  const examples = JSON.parse(readFileSync(EXAMPLES, 'utf8')) as { responses: Node; problems: Node }

  /** Moves a part to the components, and returns the reference to it. */
  const toComponent = (kind: string, name: string, part: object): { $ref: string } => {
    components[kind] ??= {}
    const known = components[kind][name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(part)) {
      throw new Error(`Two parts of the OpenAPI document have the name ${kind}/${name}`)
    }
    components[kind][name] = part as Node
    return { $ref: `#/components/${kind}/${name}` }
  }

  /** A value in which each schema with a title is a reference. */
  const withReferences = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(withReferences)
    const members = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withReferences(each)]))
    const { title, ...rest } = members
    // A property that is called title is no string.
    return typeof title === 'string' ? toComponent('schemas', title, rest) : members
  }

  Object.assign(components.schemas as object, withReferences(components.schemas))
  for (const operation of operations) {
    const { operationId, parameters = [], responses } = operation
    for (const [status, response] of Object.entries(responses) as [string, Response][]) {
      for (const [name, header] of Object.entries(response.headers)) {
        response.headers[name] = toComponent('headers', name, header)
      }
      for (const [type, media] of Object.entries(response.content ?? {})) {
        // A file has no example.
        if (type === PROBLEM_TYPE || media.schema.format === 'binary') continue
        media.schema = withReferences(media.schema) as Node
        media.example = examples.responses[operationId]
      }
      const problem = response.content?.[PROBLEM_TYPE]
      if (problem?.examples !== undefined) {
        const codes = Object.keys(problem.examples)
        problem.examples = Object.fromEntries(codes.map((code) => [code, { value: examples.problems[code] }]))
        responses[status] = toComponent('responses', codes.map(capitalised).join('Or'), response)
      }
    }
    const all = [...parameters, ...('304' in responses ? [ifNoneMatch] : [])]
    operation.parameters = withReferences(all) as Parameter[]
    for (const parameter of operation.parameters as Parameter[]) {
      // It tells how several values are written.
      const { type, explode, ...schema } = parameter.schema
      if (type === 'array') parameter.style = 'form'
      else delete parameter.explode
      if (explode) Object.assign(parameter, { explode, schema: { type, ...schema } })
    }
  }

  // A parameter of one operation is described where it is used.
  const uses = operations.flatMap(({ tags, parameters = [] }) =>
    parameters.map((parameter) => ({ text: JSON.stringify(parameter), tags })),
  )
  for (const operation of operations) {
    operation.parameters = (operation.parameters as Parameter[]).map((parameter) => {
      const text = JSON.stringify(parameter)
      const users = uses.filter((use) => use.text === text)
      const tags = new Set(users.flatMap((use) => use.tags))
      for (const tag of borrowing) if (tags.size > 1) tags.delete(tag)
      const prefix = tags.size === 1 ? String([...tags][0]).replaceAll(' ', '') : ''
      return users.length === 1 ? parameter : toComponent('parameters', prefix + capitalised(parameter.name), parameter)
    })
  }
  return document
}

/** `not_found` as `NotFound`, and `If-None-Match` as `IfNoneMatch`. */
const capitalised = (name: string): string =>
  name.replace(/(?:^|[_-])(\w)/g, (_, letter: string) => letter.toUpperCase())
