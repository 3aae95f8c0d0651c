// Finds errors in a query plan: a scan of a collection, rows of other organisations or beyond a range, or a sort that
// no index serves. It reads explain documents of MongoDB and of the MongoDB-compatible server, which contain
// PostgreSQL's plans.

type Node = Readonly<Record<string, unknown>>

/** Stages and nodes that a plan must not have. */
const NOT_ALLOWED = new Set(['COLLSCAN', 'SORT', 'Seq Scan', 'Sort', 'Incremental Sort'])
/** Parts of the document that do not belong to the plan: the command, and the plans that were not chosen. */
const OUTSIDE = new Set(['command', 'rejectedPlans'])

/** The fields that say whose a record or a tombstone is. The compatible server shows their names in hexadecimal. */
const OWNERS = ['organisation', 'deletedFrom']
const OWNERS_IN_HEX = OWNERS.map((name) => Buffer.from(`${name}\0`).toString('hex'))

/** Whether an index scan reads other documents than those of the organisation and those with the requested ids. */
const readsOthers = ({ stage, indexName, indexBounds, ...node }: Node): boolean => {
  if (stage === 'IXSCAN') {
    // That of a join has no bounds: it looks up one value after the other.
    if (indexBounds === undefined) return false
    const [[field, bounds]] = Object.entries(indexBounds as object) as [[string, unknown]]
    return !['_id', ...OWNERS].includes(field) || String(bounds) === '[MinKey, MaxKey]'
  }
  const name = node['Index Name']
  if (name === undefined) return false
  const condition = String(node['Index Cond'])
  return !(name === '_id_' ? ['object_id'] : OWNERS_IN_HEX).some((part) => condition.includes(part))
}

/** Whether a join reads documents that are not equal in its field, or fields that it does not need. */
const joinsTooMuch = ({ collectionScans, strategy, indexesUsed, ...node }: Node): boolean => {
  if (Number(collectionScans) > 0 || strategy === 'NestedLoopJoin') return true
  if (Array.isArray(indexesUsed)) return !indexesUsed.every((name) => /^(_id_$|organisation_1_)/.test(name))
  // The compatible server collects whole documents before stages that it cannot run as part of the join.
  if (node['Function Name'] === 'bson_lookup_unwind') return true
  const { Filter: filter, 'Index Cond': condition = 'lookup_extract' } = node
  return String(filter).includes('lookup_join_filter') && !String(condition).includes('lookup_extract')
}

/** The fields of those given whose values do not bound an index scan, so that it reads rows that they leave out. */
const unbounded = ({ stage, indexBounds, ...node }: Node, fields: readonly string[]): string[] => {
  if (stage === 'IXSCAN') {
    if (indexBounds === undefined) return []
    const bounds = indexBounds as Readonly<Record<string, unknown>>
    return fields.filter((field) => String(bounds[field] ?? '[MinKey, MaxKey]') === '[MinKey, MaxKey]')
  }
  if (node['Index Name'] === undefined) return []
  const condition = String(node['Index Cond'])
  return fields.filter((field) => !condition.includes(Buffer.from(`${field}\0`).toString('hex')))
}

function* errorsIn(value: unknown, fields: readonly string[]): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  const node = value as Node
  const name = String(node.stage ?? node['Node Type'])
  if (NOT_ALLOWED.has(name)) yield name
  if ('$sort' in node) yield '$sort' // a stage that runs outside the query plan
  if (joinsTooMuch(node)) yield '$lookup of too much'
  if (readsOthers(node)) yield `foreign rows of ${node.indexName ?? node['Index Name']}`
  for (const field of unbounded(node, fields)) yield `${field} does not bound the index`
  for (const [key, inner] of Object.entries(node)) if (!OUTSIDE.has(key)) yield* errorsIn(inner, fields)
}

/**
 * The errors of a plan; empty if indexes serve all of it.
 * @param fields the fields that must bound each index scan, so that it reads no row that they leave out
 */
export const planErrors = (explained: unknown, fields: readonly string[] = []): string[] => [
  ...new Set(errorsIn(explained, fields)),
]
