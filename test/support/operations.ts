// The operations of the service that need a key, as its OpenAPI document has them.
import type { FastifyInstance } from 'fastify'

export interface Schema {
  enum?: string[]
  items?: Schema
  $ref?: string
}
export interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: Schema
}
interface Document {
  paths: Record<string, { get: { parameters?: (Parameter | { $ref: string })[] } }>
  components: { parameters: Record<string, Parameter>; schemas: Record<string, Schema> }
}

/** The operations by their paths, with their parameters in path and query. */
export const operationsOf = async (app: FastifyInstance): Promise<[string, readonly Parameter[]][]> => {
  await app.ready()
  const { paths, components } = app.swagger() as unknown as Document
  const last = (reference: string) => reference.split('/').at(-1) as string
  const resolve = (schema: Schema): Schema => ({
    ...(schema.$ref === undefined ? schema : components.schemas[last(schema.$ref)]),
    ...(schema.items && { items: resolve(schema.items) }),
  })
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .map(([path, { get }]) => {
      const parameters = (get.parameters ?? [])
        .map((part) => ('$ref' in part ? (components.parameters[last(part.$ref)] as Parameter) : part))
        .filter((part) => part.in !== 'header')
        .map((part) => ({ ...part, schema: resolve(part.schema) }))
      return [path, parameters]
    })
}
