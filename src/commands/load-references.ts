// Finds the ids in documents that lead to nothing of the organisation: to no document at all or to another organisation's,
// between which nothing here tells the difference.

import { type BsonList, elements } from '../bson/reader.js'
import { type CollectionName, references } from '../documents/collections.js'
import { Query } from '../pipelines/stages.js'
import type { Store } from '../store/store.js'
import type { Line } from './load-lines.js'

/** An id in a line of which the organisation has no document. */
export interface MissingReference {
  number: number
  field: string
  target: CollectionName
  id: string
}

/** How many ids are asked for at once. */
const MOST_IDS = 1000

/** The ids in lines of a collection's documents that lead to nothing, in the order of the lines. */
export const missingReferences = async (
  store: Store,
  collection: CollectionName,
  organisation: string,
  lines: readonly Line[],
): Promise<MissingReference[]> => {
  const missing: MissingReference[] = []
  for (const [target, fields] of byTarget(collection)) {
    const named = lines.flatMap(({ number, document }) =>
      fields.flatMap((field) => idsAt(document, field).map((id) => ({ number, field, target, id }))),
    )
    const ids = [...new Set(named.map(({ id }) => id))]
    const present = new Set<string>()
    for (let start = 0; start < ids.length; start += MOST_IDS) {
      const condition = { _id: { $in: ids.slice(start, start + MOST_IDS) } }
      const query = Query.in({ organisation }, target, [condition], [{ $project: { _id: 1 } }])
      for (const id of idsOf(await store.aggregate(query))) present.add(id)
    }
    missing.push(...named.filter(({ id }) => !present.has(id)))
  }
  return missing.sort((one, other) => one.number - other.number)
}

const byTarget = (collection: CollectionName): Map<CollectionName, string[]> => {
  const fields = new Map<CollectionName, string[]>()
  for (const [field, target] of Object.entries(references[collection] ?? {})) {
    fields.set(target, [...(fields.get(target) ?? []), field])
  }
  return fields
}

/** The ids at a path of a document that fits its schema. */
const idsAt = (document: unknown, path: string): string[] => {
  const value = path
    .split('.')
    .reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], document)
  return value === undefined ? [] : ([value].flat() as string[])
}

/** The ids of documents that have nothing else. */
const idsOf = ({ batches }: BsonList): string[] =>
  batches.flatMap((bytes) =>
    Array.from(elements(bytes, 0)).flatMap((document) =>
      Array.from(elements(bytes, document.at), ({ at, next }) => bytes.toString('utf8', at + 4, next - 1)),
    ),
  )
