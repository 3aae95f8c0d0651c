// Growth in real time: an endless sequence of records that are added, changed and deleted. The same data and the same seed
// give the same sequence.

import { dispatchStatuses } from '../schemas/dispatches.js'
import { type Documents, type RecordCollection, recordCollections } from '../src/core/documents/collections.js'
import type { Batch } from './index.js'
import { createRandom, pick } from './random.js'

type Document<C extends RecordCollection> = Documents[C]

/** The records at hand, by organisation. */
type Pools = Map<string, Document<RecordCollection>[]>

export type LiveOperation = {
  [C in RecordCollection]: { kind: 'add' | 'change' | 'delete'; collection: C; document: Document<C> }
}[RecordCollection]

/**
 * How many records of a collection and an organisation are at hand to be copied, changed and deleted. The oldest leave
 * first.
 */
const POOL = 1000

/** How often a collection has its turn. Entries come and go most. */
const shares: { readonly [C in RecordCollection]?: number } = { entries: 16, dispatches: 2 }
const turns = recordCollections.toReversed().flatMap((name) => Array<RecordCollection>(shares[name] ?? 1).fill(name))
/** One in so many changes moves an entry or a dispatch to a project of its organisation. */
const CHANGES_OF_A_MOVE = 5
const kinds = ['add', 'add', 'add', 'add', 'add', 'change', 'change', 'change', 'delete'] as const

/** The words of `status`, where a collection has it. */
const words: { readonly [C in RecordCollection]?: readonly string[] } = {
  users: ['active', 'inactive'],
  agents: ['active', 'inactive'],
  forms: ['active', 'archived'],
  dispatches: dispatchStatuses,
  entries: ['pending', 'accepted', 'rejected'],
}

/**
 * Returns a function that gives the next operation. Each record that is added is a copy of another one under an id of its own.
 * @param data has records of every collection
 * @param now gives the time of each operation
 */
export const liveOperations = (data: Iterable<Batch>, seed: number, now: () => Date): (() => LiveOperation) => {
  const random = createRandom(seed)
  const pools = new Map<RecordCollection, Pools>(turns.map((name) => [name, new Map()]))
  for (const { collection, documents } of data) {
    const ofCollection = pools.get(collection as RecordCollection)
    if (ofCollection === undefined) continue
    for (const document of documents as Document<RecordCollection>[]) {
      const pool = ofCollection.get(document.organisation) ?? []
      ofCollection.set(document.organisation, pool)
      pool.push(document)
      if (pool.length > POOL) pool.shift()
    }
  }
  let n = 0
  const next = (): LiveOperation => {
    const collection = pick(random, turns)
    const kind = pick(random, kinds)
    const pool = pick(random, [...(pools.get(collection) as Pools).values()])
    // The last record stays, to be copied.
    if (kind === 'delete' && pool.length === 1) return next()
    const at = Math.floor(random() * pool.length)
    const found = pool[at]
    const time = now()
    const known = words[collection]
    const status = known && { status: pick(random, known) }
    const projects = pools.get('projects')?.get(String(found?.organisation))
    const mayMove = kind === 'change' && (collection === 'entries' || collection === 'dispatches')
    const moved = mayMove && projects && random() * CHANGES_OF_A_MOVE < 1 && { project: pick(random, projects)._id }
    const added = kind === 'add' && { _id: `live-${String(n++).padStart(9, '0')}`, createdAt: time }
    const document = { ...found, ...status, ...moved, ...added, updatedAt: time }
    if (kind === 'add') pool.push(document as never)
    else if (kind === 'change') pool[at] = document as never
    else pool.splice(at, 1)
    if (pool.length > POOL) pool.shift()
    return { kind, collection, document } as LiveOperation
  }
  return next
}
