// The OpenAPI 3.0 document of OGC API - Features, made of the operations in the document of the service. Map programs and
// the standard's tests read it without a network, so it refers to nothing outside of itself.

type Node = Readonly<Record<string, unknown>>
interface Document {
  readonly info: object
  readonly security: unknown
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Node>>
  readonly components: Readonly<Record<string, Node>>
}

const ITEMS = '/collections/entries/items'

/** @param described the OpenAPI 3.1 document of the service @param prefix what the paths of the operations begin with */
export const ogcDocument = (described: object, prefix: string): object => {
  const { info, security, tags, paths, components } = described as Document
  const own = Object.entries(paths).filter(([path]) => path === prefix || path.startsWith(`${prefix}/`))
  const shown = Object.fromEntries(own.map(([path, item]) => [path.slice(prefix.length) || '/', older(item)]))
  const { securitySchemes } = components
  // QGIS learns from a component of this name how large a page may be.
  const { parameters } = (shown[ITEMS] as { get: { parameters: Node[] } }).get
  const place = parameters.findIndex(({ name }) => name === 'limit')
  const [limit] = parameters.splice(place, 1, { $ref: '#/components/parameters/limit' })
  const named = { ...components, parameters: { ...components.parameters, limit } }
  return {
    openapi: '3.0.3',
    info,
    security,
    tags: tags.filter(({ name }) => name === 'OGC API'),
    paths: shown,
    components: { securitySchemes, ...referredTo(shown, named) },
  }
}

/** The components that a part of the document refers to, also by others. */
const referredTo = (part: object, components: Document['components']): Record<string, Record<string, unknown>> => {
  const found: Record<string, Record<string, unknown>> = {}
  const add = (text: string): void => {
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w.-]+)"/g)) {
      const ofKind = found[kind] ?? {}
      found[kind] = ofKind
      if (name in ofKind) continue
      ofKind[name] = older(components[kind]?.[name])
      add(JSON.stringify(ofKind[name]))
    }
  }
  add(JSON.stringify(part))
  return found
}

/** A part of a document of OpenAPI 3.1 as 3.0 has it, without examples. */
const older = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(older)
  if (typeof value !== 'object' || value === null) return value
  const { example, examples, unevaluatedProperties, ...node } = value as Node
  if (typeof node.$ref === 'string') return { $ref: node.$ref }
  if (node.in === 'query') return { ...olderMembers(node), style: 'form', explode: false }
  if ('const' in node) {
    const { const: only, ...rest } = node
    return { ...olderMembers(rest), enum: [only] }
  }
  const branches = node.anyOf
  if (Array.isArray(branches) && branches.some(isNull)) {
    const { anyOf, ...rest } = node
    const allOf = older(branches.filter((each) => !isNull(each)))
    return { ...olderMembers(rest), nullable: true, type: 'object', allOf }
  }
  return olderMembers(node)
}

const olderMembers = (node: Node): object =>
  Object.fromEntries(Object.entries(node).map(([name, each]) => [name, older(each)]))

const isNull = ({ type }: Node): boolean => type === 'null'
