// Reads the plan that a server explains: whether it scans a collection, reads rows of other organisations, or sorts what no
// index has in order. It knows the explain documents of MongoDB and those of the MongoDB-compatible server, which hold
// PostgreSQL's plans.

type Node = Readonly<Record<string, unknown>>

/** Stages and nodes by which a plan names what it must not do. */
const FAULTY = new Set(['COLLSCAN', 'SORT', 'Seq Scan', 'Sort', 'Incremental Sort'])
/** What is no part of the plan: the command as it was sent, and the plans that were not taken. */
const BESIDE = new Set(['command', 'rejectedPlans'])

/** The name of the organisation as a field of BSON, which is how the compatible server shows it in hexadecimal. */
const ORGANISATION = Buffer.from('organisation\0').toString('hex')

/** Whether an index scan goes beyond the organisation's own documents and those that are asked for by their ids. */
const readsOthers = ({ stage, indexName, indexBounds, ...node }: Node): boolean => {
  if (stage === 'IXSCAN') {
    const [[field, bounds]] = Object.entries(indexBounds as object) as [[string, unknown]]
    return !['_id', 'organisation'].includes(field) || String(bounds) === '[MinKey, MaxKey]'
  }
  const name = node['Index Name']
  if (name === undefined) return false
  return !String(node['Index Cond']).includes(name === '_id_' ? 'object_id' : ORGANISATION)
}

/** Whether a join reads more documents than those that are equal in its field, or more of each than it was told to. */
const joinsTooMuch = ({ collectionScans, strategy, indexesUsed, ...node }: Node): boolean => {
  if (Number(collectionScans) > 0 || strategy === 'NestedLoopJoin') return true
  if (Array.isArray(indexesUsed)) return !indexesUsed.every((name) => /^(_id_$|organisation_1_)/.test(name))
  // The compatible server gathers whole documents before it runs stages that it cannot take into the join.
  if (node['Function Name'] === 'bson_lookup_unwind') return true
  const { Filter: filter, 'Index Cond': condition = 'lookup_extract' } = node
  return String(filter).includes('lookup_join_filter') && !String(condition).includes('lookup_extract')
}

function* faultsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  const node = value as Node
  const name = String(node.stage ?? node['Node Type'])
  if (FAULTY.has(name)) yield name
  if ('$sort' in node) yield '$sort' // a stage that the query's plan did not take over
  if (joinsTooMuch(node)) yield '$lookup of too much'
  if (readsOthers(node)) yield `foreign rows of ${node.indexName ?? node['Index Name']}`
  for (const [key, inner] of Object.entries(node)) if (!BESIDE.has(key)) yield* faultsIn(inner)
}

/** What is wrong with a plan; nothing if indexes serve all of it. */
export const planFaults = (explained: unknown): string[] => [...new Set(faultsIn(explained))]
