// A writer as a process: it changes entries of its own by the statements of docs/data.md, and reports each write before it
// begins and when it is acknowledged. Arguments: the URI of the database, the organisation, the ids, separated by commas, and
// the first version that it writes.
import { setTimeout } from 'node:timers/promises'
import { MongoClient } from 'mongodb'

/** A write of a version in a project, or a deletion. When it is acknowledged, it has its change stamp, in milliseconds. */
export interface Report {
  readonly id: string
  readonly version: number | undefined
  readonly project: string | undefined
  readonly stamp?: number
}

/** An entry or a tombstone. */
export interface Stored {
  readonly _id: string
  readonly organisation?: string
  readonly duration?: number
  readonly project?: string
  readonly formerProjects?: readonly string[]
  readonly changedAt?: Date
  readonly deletedAt?: Date
}

const [uri = '', organisation = '', ids = '', first = ''] = process.argv.slice(2)
const LONGEST_PAUSE_MS = 60
const PROJECTS = ['project-1', 'project-2', 'project-3']

const client = new MongoClient(uri)
const entries = client.db().collection<Stored>('entries')
const isTombstone = { deletedFrom: organisation, organisation: { $exists: false } }
const stamp = (_id: string) =>
  entries.updateOne({ _id, organisation, changedAt: { $exists: false } }, [{ $set: { changedAt: '$$NOW' } }])

/** All that a field has had, with what it has. */
const everIn = (field: string, set: string) => ({
  $setUnion: [{ $ifNull: [`$${set}`, []] }, { $cond: [`$${field}`, [`$${field}`], []] }],
})
const kept = {
  ...{ project: '$project', form: '$form' },
  ...{ formerProjects: everIn('project', 'formerProjects'), formerForms: everIn('form', 'formerForms') },
}

/** The statements, each for an entry that exists or for one that does not. */
const statements = {
  add: (_id: string, duration: number, project: string) => {
    const updatedAt = new Date(Date.UTC(2020, 0, 1) + duration)
    const dated = { createdAt: updatedAt, updatedAt }
    const entry = { _id, organisation, project, status: 'submitted', answers: [], ...dated, duration }
    const sets = { formerProjects: '$formerProjects', formerForms: '$formerForms' }
    return entries.updateOne(
      { _id, ...isTombstone },
      [{ $replaceWith: { $mergeObjects: [{ $literal: entry }, { changedAt: '$$NOW', ...sets }] } }],
      { upsert: true },
    )
  },
  move: (_id: string, duration: number, project: string, old: string) =>
    entries.updateOne(
      { _id, organisation, project: old },
      {
        $set: { duration, project },
        $addToSet: { formerProjects: old },
        $currentDate: { updatedAt: true, changedAt: true },
      },
    ),
  moveAny: (_id: string, duration: number, project: string) =>
    entries.updateOne({ _id, organisation, project: { $type: 'string' } }, [
      {
        $set: {
          ...{ duration, project: { $literal: project }, updatedAt: '$$NOW', changedAt: '$$NOW' },
          formerProjects: { $setUnion: [{ $ifNull: ['$formerProjects', []] }, ['$project']] },
        },
      },
    ]),
  change: (_id: string, duration: number) =>
    entries.updateOne(
      { _id, organisation },
      { $set: { duration }, $currentDate: { updatedAt: true, changedAt: true } },
    ),
  remove: (_id: string) =>
    entries.updateOne({ _id, organisation }, [
      { $replaceWith: { _id: '$_id', deletedFrom: '$organisation', deletedAt: '$$NOW', ...kept } },
    ]),
  /** For programs that can do nothing else: an insert without a stamp, and the stamp right after it. */
  insert: async (_id: string, duration: number, project: string) => {
    const now = new Date()
    const dated = { createdAt: now, updatedAt: now }
    const entry = { _id, organisation, project, status: 'submitted', answers: [], ...dated, duration }
    await entries.insertOne(entry as never)
    await setTimeout(Math.random() * LONGEST_PAUSE_MS)
    await stamp(_id)
  },
}

const exists = new Map<string, 'record' | 'tombstone' | 'nothing'>()
const projects = new Map<string, string>()
for (const id of ids.split(',')) {
  // A writer before this one may have been killed between its two statements.
  await stamp(id)
  const found = await entries.findOne({ _id: id })
  projects.set(id, found?.project ?? '')
  exists.set(id, found === null ? 'nothing' : found.organisation === undefined ? 'tombstone' : 'record')
}

for (let version = Number(first); ; version++) {
  const own = [...exists.keys()]
  // The first id is changed all the time.
  const id = own[Math.random() < 0.3 ? 0 : Math.floor(Math.random() * own.length)] as string
  const state = exists.get(id)
  const isRemoved = state === 'record' && Math.random() < 0.2
  const isKept = state === 'record' && Math.random() < 0.5
  const old = projects.get(id) as string
  const project = isKept ? old : (PROJECTS[Math.floor(Math.random() * PROJECTS.length)] as string)
  const report: Report = { id, ...(isRemoved ? { version: undefined, project: undefined } : { version, project }) }
  process.send?.(report)
  if (isRemoved) await statements.remove(id)
  else if (isKept) await statements.change(id, version)
  else if (state === 'record' && project !== old && Math.random() < 0.5)
    await statements.move(id, version, project, old)
  else if (state === 'record') await statements.moveAny(id, version, project)
  else if (state === 'nothing' && Math.random() < 0.5) await statements.insert(id, version, project)
  else await statements.add(id, version, project)
  if (!isRemoved) projects.set(id, project)
  exists.set(id, isRemoved ? 'tombstone' : 'record')
  // Nobody else writes this id, so the stamp is that of this write.
  const stored = await entries.findOne({ _id: id })
  process.send?.({ ...report, stamp: (stored?.changedAt ?? stored?.deletedAt)?.getTime() })
  await setTimeout(Math.random() * LONGEST_PAUSE_MS)
}
