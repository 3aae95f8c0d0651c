// The serializers of responses that have only some fields of each record.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { select } from '../../schemas/kit.js'
import { compileResponse, type ResponseSerializer } from './compiler.js'

/** Callers use few sets of fields, and a forgotten serializer is compiled again in about a millisecond. */
const KEPT = 50

/**
 * The serializers for a response whose `data` are items: one for each set of fields, compiled when it is first used.
 * @param max how many of them are kept
 */
export const compileSelections = (response: TObject, item: TObject, max = KEPT) => {
  const kept = new LRUCache<string, ResponseSerializer>({ max })
  return (fields: readonly string[]): ResponseSerializer => {
    const selected = select(item, ['id', ...fields])
    const key = Object.keys(selected.properties).join()
    let serialize = kept.get(key)
    if (serialize === undefined) {
      serialize = compileResponse(withData(response, Type.Array(selected)))
      kept.set(key, serialize)
    }
    return serialize
  }
}

const withData = (response: TObject, data: TSchema): TObject => Type.Object({ ...response.properties, data })
