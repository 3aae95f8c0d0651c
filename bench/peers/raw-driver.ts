// A limit rather than a peer: the driver alone, without HTTP. It repeats the query of a list.
import { type Document, MongoClient } from 'mongodb'
import { entries as entryResource } from '../../src/core/pipelines/entries.js'
import { listQuery, recordQuery } from '../../test/support/queries.js'
import { handleCalls } from '../ipc.js'
import { listingOf } from '../requests.js'
import { timed } from '../timing.js'
import { mongodbUri, organisation } from './environment.js'

export interface DriverLoad {
  /** The path of a list. */
  path: string
  work: Work
  concurrency: number
  ms: number
}

const db = (await MongoClient.connect(mongodbUri())).db()
const entries = db.collection('entries')
const scope = { organisation: organisation() }

const works = (path: string) => {
  const listing = listingOf(path)
  const { match, stages } = listQuery(entryResource, scope, listing)
  const pipeline = [{ $match: match }, ...stages]
  const skip = (listing.page - 1) * listing.perPage
  const aggregate = (): Promise<Document[]> => entries.aggregate(pipeline).toArray()
  return {
    /** The list's pipeline. */
    aggregate,
    /** The list's pipeline, and its total beside it. */
    aggregateAndCount: () => Promise.all([aggregate(), entries.countDocuments(match)]),
    /** The list's pipeline, whose documents stay the bytes that the server sent. */
    rawAggregate: () => entries.aggregate(pipeline, { raw: true }).toArray(),
    /** The documents of the list by sort, skip and limit. */
    find: () => entries.find(match).sort({ _id: 1 }).skip(skip).limit(listing.perPage).toArray(),
  }
}
export type Work = keyof ReturnType<typeof works>

handleCalls({
  load: ({ path, work, concurrency, ms }: DriverLoad) => timed(concurrency, ms, works(path)[work]),
  /** The plan of the query behind a request, or of the count that belongs to a list. */
  explain: ({ path, count }: { path: string; count: boolean }) => {
    const id = /^\/v1\/entries\/([^?]+)/.exec(path)?.[1]
    const { match, stages } =
      id === undefined ? listQuery(entryResource, scope, listingOf(path)) : recordQuery(entryResource, scope, id)
    const pipeline = [{ $match: match }, ...(count ? [{ $count: 'total' }] : stages)]
    return entries.aggregate(pipeline).explain('executionStats')
  },
})
