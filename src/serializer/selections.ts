// The serializers of lists that show only some fields of each record, or records in place of their ids.
import { type TObject, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { flat, isJoined, select } from '../../schemas/kit.js'
import { compileResponse, type ResponseSerializer } from './compiler.js'

/** Callers use few sets of fields, and a forgotten serializer is compiled again in about a millisecond. */
const KEPT = 50

/** What a request wants to see of each item. */
interface Choice {
  readonly fields?: readonly string[] | undefined
  readonly expand?: readonly string[] | undefined
  readonly embed?: 'true' | 'false'
  readonly answers?: 'list'
}

/**
 * The serializers for a response whose `data` are items: one for each choice of what they show, compiled when it is first
 * used. An expanded field, which is a union of an id and a record otherwise, holds only records.
 * @param max how many of them are kept
 */
export const compileSelections = (response: TObject, item: TObject, max = KEPT) => {
  const kept = new LRUCache<string, ResponseSerializer>({ max })
  const stored = Type.Object(flat(item))
  return ({ fields, expand: expanded = [], embed, answers }: Choice): ResponseSerializer => {
    const shape = embed === 'false' ? stored : item
    const selected = select(shape, ['id', ...(fields ?? Object.keys(shape.properties))])
    const names = Object.keys(selected.properties)
    const key = [embed, answers, ...names.map((name) => (expanded.includes(name) ? `${name}+` : name))].join()
    let serialize = kept.get(key)
    if (serialize === undefined) {
      for (const name of names.filter((name) => expanded.includes(name))) {
        selected.properties[name] = selected.properties[name]?.anyOf.find(isJoined)
      }
      serialize = compileResponse(Type.Object({ ...response.properties, data: Type.Array(selected) }), answers)
      kept.set(key, serialize)
    }
    return serialize
  }
}
