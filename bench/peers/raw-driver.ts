// A limit, no peer: the driver alone, without HTTP. It runs the pipeline of a list so many at a time.
import { MongoClient } from 'mongodb'
import { getEntry, listEntries } from '../../src/pipelines/entries.js'
import { answerParent } from '../ipc.js'
import { listingOf } from '../requests.js'
import { timed } from '../timing.js'
import { mongodbUri, organisation } from './environment.js'

export interface DriverLoad {
  /** The path of a list. */
  path: string
  /** The list's pipeline; the same with the total, as every list has it; or find with sort, skip and limit. */
  work: 'aggregate' | 'aggregateAndCount' | 'find'
  concurrency: number
  ms: number
}

const db = (await MongoClient.connect(mongodbUri())).db()
const entries = db.collection('entries')
const scope = { organisation: organisation() }

const works = (path: string): Record<DriverLoad['work'], () => Promise<unknown>> => {
  const listing = listingOf(path)
  const { match, stages } = listEntries(scope, listing)
  const pipeline = [{ $match: match }, ...stages]
  const aggregate = () => entries.aggregate(pipeline).toArray()
  const skip = (listing.page - 1) * listing.perPage
  return {
    aggregate,
    aggregateAndCount: () => Promise.all([aggregate(), entries.countDocuments(match)]),
    find: () => entries.find(match).sort({ _id: 1 }).skip(skip).limit(listing.perPage).toArray(),
  }
}

answerParent({
  load: ({ path, work, concurrency, ms }: DriverLoad) => timed(concurrency, ms, works(path)[work]),
  /** The plan of the query behind a request, or of the count that a list has beside it. */
  explain: ({ path, count }: { path: string; count: boolean }) => {
    const id = /^\/v1\/entries\/([^?]+)/.exec(path)?.[1]
    const { match, stages } = id === undefined ? listEntries(scope, listingOf(path)) : getEntry(scope, id)
    const pipeline = [{ $match: match }, ...(count ? [{ $count: 'total' }] : stages)]
    return entries.aggregate(pipeline).explain('executionStats')
  },
})
