// Reads the plan that a server explains: whether it scans a collection, or sorts what no index has in order. It knows the
// explain documents of MongoDB and those of the MongoDB-compatible server, which hold PostgreSQL's plans.

type Node = Readonly<Record<string, unknown>>

/** Stages and nodes by which a plan names what it must not do. */
const FAULTY = new Set(['COLLSCAN', 'SORT', 'Seq Scan', 'Sort', 'Incremental Sort'])
/** What is no part of the plan: the command as it was sent, and the plans that were not taken. */
const BESIDE = new Set(['command', 'rejectedPlans'])

/** Whether nothing bounds the first field of an index: the scan reads all of it, which is the collection by another name. */
const readsWholeIndex = ({ stage, indexBounds, ...node }: Node): boolean => {
  if (stage === 'IXSCAN') return String(Object.values(indexBounds as object)[0]) === '[MinKey, MaxKey]'
  return node['Index Name'] === '_id_' && !String(node['Index Cond']).includes('object_id')
}

function* faultsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  const node = value as Node
  const name = String(node.stage ?? node['Node Type'])
  if (FAULTY.has(name)) yield name
  if ('$sort' in node) yield '$sort' // a stage that the query's plan did not take over
  if (Number(node.collectionScans) > 0 || node.strategy === 'NestedLoopJoin') yield '$lookup without an index'
  if (readsWholeIndex(node)) yield `all of ${node.indexName ?? node['Index Name']}`
  for (const [key, inner] of Object.entries(node)) if (!BESIDE.has(key)) yield* faultsIn(inner)
}

/** What is wrong with a plan; nothing if indexes serve all of it. */
export const planFaults = (explained: unknown): string[] => [...new Set(faultsIn(explained))]
