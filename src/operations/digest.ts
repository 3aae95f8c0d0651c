// Counts and sums of the records of a resource in ranges of ids, by which a partner checks its copy.
import type { DigestQuery } from '../../schemas/sync.js'
import type { Resource } from '../pipelines/resource.js'
import { narrowed } from '../pipelines/stages.js'
import type { Reader } from '../reading/reader.js'
import type { Clock } from '../sync/clock.js'
import { rangesOf, readDigests } from '../sync/digest.js'
import type { Asked, ValueAnswer } from './answer.js'

/** How long the ranges may take together, in milliseconds. */
const LIMIT_MS = 60_000

/** @throws the problem `query_timeout` */
export const getDigest = async (
  { store, scope, ticket }: Reader,
  { collection }: Resource,
  { query }: Asked<DigestQuery>,
  clock: Clock,
): Promise<ValueAnswer> => {
  const ranges = rangesOf(query)
  const asOf = new Date((await clock()).now).toISOString()
  const reader = { store, scope: narrowed(scope, query), ticket }
  const data = await readDigests(reader, collection, ranges, LIMIT_MS)
  return { value: { success: true, data, _metadata: { asOf } } }
}
