// A writer as a process: it changes entries of its own by the statements of docs/data.md, and reports each write before it
// begins and when it is acknowledged. Arguments: the URI of the database, the organisation, the ids, separated by commas, and
// the first version that it writes.
import { setTimeout } from 'node:timers/promises'
import { MongoClient } from 'mongodb'

/** A write of a version, or a deletion. When it is acknowledged, it has its change stamp, in milliseconds. */
export interface Report {
  readonly id: string
  readonly version: number | undefined
  readonly stamp?: number
}

/** An entry or a tombstone. */
export interface Stored {
  readonly _id: string
  readonly organisation?: string
  readonly duration?: number
  readonly changedAt?: Date
  readonly deletedAt?: Date
}

const [uri = '', organisation = '', ids = '', first = ''] = process.argv.slice(2)
const LONGEST_PAUSE_MS = 60

const client = new MongoClient(uri)
const entries = client.db().collection<Stored>('entries')
const isTombstone = { deletedFrom: organisation, organisation: { $exists: false } }
const stamp = (_id: string) =>
  entries.updateOne({ _id, organisation, changedAt: { $exists: false } }, [{ $set: { changedAt: '$$NOW' } }])

/** The statements, each for an entry that exists or for one that does not. */
const statements = {
  add: (_id: string, duration: number) => {
    const updatedAt = new Date(Date.UTC(2020, 0, 1) + duration)
    const entry = { _id, organisation, status: 'submitted', answers: [], createdAt: updatedAt, updatedAt, duration }
    return entries.updateOne(
      { _id, ...isTombstone },
      [{ $replaceWith: { $mergeObjects: [{ $literal: entry }, { changedAt: '$$NOW' }] } }],
      { upsert: true },
    )
  },
  change: (_id: string, duration: number) =>
    entries.updateOne(
      { _id, organisation },
      { $set: { duration }, $currentDate: { updatedAt: true, changedAt: true } },
    ),
  remove: (_id: string) =>
    entries.updateOne({ _id, organisation }, [
      { $replaceWith: { _id: '$_id', deletedFrom: '$organisation', deletedAt: '$$NOW' } },
    ]),
  /** For programs that can do nothing else: an insert without a stamp, and the stamp right after it. */
  insert: async (_id: string, duration: number) => {
    const now = new Date()
    const entry = { _id, organisation, status: 'submitted', answers: [], createdAt: now, updatedAt: now, duration }
    await entries.insertOne(entry as never)
    await setTimeout(Math.random() * LONGEST_PAUSE_MS)
    await stamp(_id)
  },
}

const exists = new Map<string, 'record' | 'tombstone' | 'nothing'>()
for (const id of ids.split(',')) {
  // A writer before this one may have been killed between its two statements.
  await stamp(id)
  const found = await entries.findOne({ _id: id })
  exists.set(id, found === null ? 'nothing' : found.organisation === undefined ? 'tombstone' : 'record')
}

for (let version = Number(first); ; version++) {
  const own = [...exists.keys()]
  // The first id is changed all the time.
  const id = own[Math.random() < 0.3 ? 0 : Math.floor(Math.random() * own.length)] as string
  const state = exists.get(id)
  const isRemoved = state === 'record' && Math.random() < 0.2
  const report: Report = { id, version: isRemoved ? undefined : version }
  process.send?.(report)
  if (isRemoved) await statements.remove(id)
  else if (state === 'record') await statements.change(id, version)
  else if (state === 'nothing' && Math.random() < 0.5) await statements.insert(id, version)
  else await statements.add(id, version)
  exists.set(id, isRemoved ? 'tombstone' : 'record')
  // Nobody else writes this id, so the stamp is that of this write.
  const stored = await entries.findOne({ _id: id })
  process.send?.({ ...report, stamp: (stored?.changedAt ?? stored?.deletedAt)?.getTime() })
  await setTimeout(Math.random() * LONGEST_PAUSE_MS)
}
