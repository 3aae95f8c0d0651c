// Finds references to documents that the organisation does not have. Another organisation may have them: that does not count.
import { fieldOf, stringOf } from '../core/bson/values.js'
import { type CollectionName, references } from '../core/documents/collections.js'
import { Query } from '../core/pipelines/stages.js'
import type { Store } from '../core/store/store.js'
import type { Line } from './load-lines.js'

const IDS_PER_QUERY = 1000

/** The missing references in lines of a collection, each with a text about it, in the order of the lines. */
export const missingReferences = async (
  store: Store,
  collection: CollectionName,
  organisation: string,
  lines: readonly Line[],
): Promise<{ number: number; text: string }[]> => {
  const missing: { number: number; text: string }[] = []
  for (const [field, target] of Object.entries(references[collection] ?? {})) {
    const found = lines.flatMap(({ number, document }) => idsAt(document, field).map((id) => ({ number, id })))
    const ids = [...new Set(found.map(({ id }) => id))]
    const present = new Set<string | undefined>()
    for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
      const condition = { _id: { $in: ids.slice(start, start + IDS_PER_QUERY) } }
      const query = Query.in({ organisation }, target, [condition], [{ $project: { _id: 1 } }])
      const { documents } = await store.aggregate(query)
      for (const { bytes } of documents) present.add(stringOf(bytes, fieldOf(bytes, 0, '_id')))
    }
    for (const { number, id } of found) {
      const text = `${field}: ${organisation} has no ${JSON.stringify(id)} in ${target}`
      if (!present.has(id)) missing.push({ number, text })
    }
  }
  return missing.sort((one, other) => one.number - other.number)
}

/** The ids in a field of a valid document: the field holds one id, an array of them, or nothing. */
const idsAt = (document: unknown, path: string): string[] => {
  const value = path
    .split('.')
    .reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], document)
  return value === undefined ? [] : ([value].flat() as string[])
}
