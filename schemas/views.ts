// What a key sees: everything, or the schemas without what it was issued without.
import type { TSchema } from '@sinclair/typebox'
import { listedSchemas, namedSchemas } from './index.js'
import { type Hidden, hideable, isHidden } from './kit.js'

/** What a key was issued without, or undefined if it sees everything. */
export type Without = readonly Hidden[] | undefined

export interface View {
  /** A schema without what is hidden. What it refers to by a `$ref` is in the named schemas. */
  readonly shown: <T extends TSchema>(schema: T) => T
  /**
   * The schemas that a `$ref` may name, without what is hidden.
   * @param answers how the answers of entries are shown
   */
  readonly named: (answers?: 'list') => ReadonlyMap<string, TSchema>
}

const WHOLE: View = {
  shown: (schema) => schema,
  named: (answers) => (answers === 'list' ? listedSchemas : namedSchemas),
}

const viewWithout = (hidden: readonly Hidden[]): View => {
  const shown = <T extends TSchema>(schema: T): T => {
    const { properties = {}, required, items, anyOf } = schema
    const left = Object.entries<TSchema>(properties).filter(([, property]) => !isHidden(property, hidden))
    const names = left.map(([name]) => name)
    return {
      ...schema,
      ...('properties' in schema && {
        properties: Object.fromEntries(left.map(([name, each]) => [name, shown(each)])),
      }),
      ...(required && { required: required.filter((name: string) => names.includes(name)) }),
      ...(items && { items: shown(items) }),
      ...(anyOf && { anyOf: anyOf.map(shown) }),
    }
  }
  const allShown = (schemas: ReadonlyMap<string, TSchema>) =>
    new Map([...schemas].map(([name, schema]) => [name, shown(schema)]))
  const [named, listed] = [allShown(namedSchemas), allShown(listedSchemas)]
  return { shown, named: (answers) => (answers === 'list' ? listed : named) }
}

/** The views that were asked for. There are as many as ways to hide something. */
const views = new Map<string, View>()

/** The view of a key, which is the same for all keys without the same. */
export const viewOf = (without: Without): View => {
  if (without === undefined) return WHOLE
  const hidden = hideable.filter((kind) => without.includes(kind))
  const view = views.get(hidden.join()) ?? viewWithout(hidden)
  views.set(hidden.join(), view)
  return view
}
