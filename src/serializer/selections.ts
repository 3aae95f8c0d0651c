// The serializers of lists that show only some fields of each record, or records in place of their ids.
import { type TObject, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { flat, isJoined, select } from '../../schemas/kit.js'
import { viewOf, type Without } from '../../schemas/views.js'
import { compileResponse, type ResponseSerializer } from './compiler.js'

/** Callers use few sets of fields, and a forgotten serializer is compiled again in about a millisecond. */
const KEPT = 50

/** What a request wants to see of each item. */
export interface Choice {
  readonly fields?: readonly string[] | undefined
  readonly expand?: readonly string[] | undefined
  readonly embed?: 'true' | 'false'
  readonly answers?: 'list'
}

/** The schema of an item as a choice shows it. An expanded field, a union otherwise, holds only records. */
export const selectedItem = (item: TObject, { fields, expand = [], embed }: Choice): TObject => {
  const shape = embed === 'false' ? Type.Object(flat(item)) : item
  const selected = select(shape, ['id', ...(fields ?? Object.keys(shape.properties))])
  for (const name of new Set(expand)) {
    const union = selected.properties[name]
    if (union !== undefined) selected.properties[name] = Type.Optional(union.anyOf.find(isJoined))
  }
  return selected
}

/**
 * The serializers for a response whose `data` are items: one for each choice of what they show and for what a key does not
 * see, compiled when it is first used.
 * @param max how many of them are kept
 */
export const compileSelections = (response: TObject, item: TObject, max = KEPT) => {
  const kept = new LRUCache<string, ResponseSerializer>({ max })
  const order = Object.keys(item.properties)
  /** The same for all choices that show the same. */
  const keyOf = ({ fields, expand = [], embed, answers }: Choice, without: Without): string => {
    const names = order.filter((name) => name === 'id' || (fields?.includes(name) ?? true))
    return [without, embed, answers, ...names.map((name) => (expand.includes(name) ? `${name}+` : name))].join()
  }
  return (choice: Choice, without?: Without): ResponseSerializer => {
    const key = keyOf(choice, without)
    let serialize = kept.get(key)
    if (serialize === undefined) {
      const data = Type.Array(selectedItem(viewOf(without).shown(item), choice))
      serialize = compileResponse(Type.Object({ ...response.properties, data }), choice.answers, without)
      kept.set(key, serialize)
    }
    return serialize
  }
}
