// Records that move between projects and forms, are removed and come back, in organisations whose records point at each
// other; and what a key sees of them that is for some projects and forms, as it would be stored if there were nothing else.
import {
  type CollectionName,
  isRecordCollection,
  type Only,
  type RecordCollection,
  recordCollections,
  references,
} from '../../src/core/documents/collections.js'
import type { Store } from '../../src/core/store/store.js'
import { type Crossed, type Draw, fillCrossed, markOf, timeOf } from './crossed.js'
import { runs } from './thorough.js'

export type Stored = Readonly<Record<string, unknown>>
/** All that is stored in the collections of records. */
export type All = Readonly<Record<RecordCollection, readonly Stored[]>>

/** The fields that say of which project and form a record is. It is written here once more than in src. */
const FIELDS: { readonly [C in RecordCollection]?: { readonly [K in keyof Only]: string } } = {
  entries: { project: 'project', form: 'form' },
  dispatches: { project: 'project', form: 'form' },
  projects: { project: '_id' },
  forms: { form: '_id' },
}
const FORMER = { project: 'formerProjects', form: 'formerForms' } as const
const KINDS = ['project', 'form'] as const

/** A text of a record, by which a search finds it. */
const markerOf = (collection: RecordCollection, n: number, i: number): string => `~${collection}-${n}-${i}~`
const MARKERS = new RegExp(`~(${recordCollections.join('|')})-\\d+-\\d+~`, 'g')

/** The markers of records that a text has. */
export const markersIn = (text: string): { marker: string; collection: RecordCollection }[] =>
  [...text.matchAll(MARKERS)].map(([marker, name]) => ({ marker, collection: name as RecordCollection }))

const MORE: { readonly [C in RecordCollection]?: number } = {
  ...{ projects: 4, forms: 4 },
  ...{ dispatches: runs(20, 40), entries: runs(40, 120) },
}

/** The id of a record without a stamp, as other writers may leave one, if it is not removed. */
const UNSTAMPED = `more7${markOf(1)}`

/** Fills a store with so many organisations (an even number), and adds records to each that move. */
export const fillScoped = async (store: Store, count: number, draw: Draw): Promise<Crossed[]> => {
  const organisations = await fillCrossed(store, count, draw)
  for (const organisation of organisations) await addMoving(store, organisation, draw.of(organisations), draw)
  return organisations
}

const addMoving = async (store: Store, { n, organisation, ids }: Crossed, other: Crossed, draw: Draw) => {
  /** An id of a project or a form, mostly of one of a few; or what is none. */
  const place = (collection: 'projects' | 'forms') => {
    const few = [...ids[collection].slice(0, 2), ids[collection].at(-1) as string]
    const rare = [
      undefined,
      null,
      `removed${markOf(n)}`,
      'nobody',
      draw.of(other.ids[collection]),
      few.slice(0, 1),
      few,
    ]
    return draw.below(8) === 0 ? draw.of(rare) : draw.of(few)
  }
  const withPlace = (record: Stored): Stored => {
    const all = { ...record, project: place('projects'), form: place('forms') }
    // MongoDB keeps no two arrays in one index.
    if (Array.isArray(all.project) && Array.isArray(all.form)) return withPlace(record)
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  }
  for (const collection of ['forms', 'projects', 'dispatches', 'entries'] as const) {
    const { changedAt: _, ...first } = (await store.dangerouslyFind(collection, ids[collection][0] as string)) as Stored
    const isMoving = collection === 'dispatches' || collection === 'entries'
    const records = Array.from({ length: MORE[collection] as number }, (_, i): Stored => {
      const marker = markerOf(collection, n, i)
      const dated = { createdAt: timeOf(n, 1 + draw.below(9)), updatedAt: timeOf(n, 1 + draw.below(9)) }
      const record: Stored = { ...first, _id: `more${i}${markOf(n)}`, ...dated }
      if (collection === 'forms') return { ...record, reason: marker }
      if (collection === 'projects') return { ...record, name: `${markOf(n)}${marker}` }
      const status = collection === 'entries' ? draw.of(['accepted', 'shared']) : record.status
      if (collection === 'dispatches')
        return withPlace({ ...record, instructions: { instructions: marker }, name: `${draw.below(5)}${markOf(n)}` })
      const answers = [...(first.answers as object[]), { type: 'text', question: 'Marker?', answer: marker }]
      return withPlace({ ...record, status, answers, dispatch: draw.of(ids.dispatches), agent: draw.of(ids.agents) })
    })
    await store.insert(collection, records as never)
    ids[collection].push(...records.map(({ _id }) => _id as string))
    if (!isMoving) continue
    for (let round = 0; round < 3; round += 1) {
      const moving = records.filter(() => draw.below(3) === 0)
      await store.upsert(collection, moving.map(withPlace) as never)
      const removed = records.filter(() => draw.below(10) === 0)
      await store.remove(
        collection,
        organisation,
        removed.map(({ _id }) => _id as string),
      )
      const back = removed.filter(() => draw.below(3) === 0)
      if (back.length > 0) await store.upsert(collection, back.map(withPlace) as never)
    }
  }
}

/** All records and tombstones of a store, with stamps of some days before a time. */
export const readAged = async (store: Store, now: number, draw: Draw): Promise<All> => {
  // Some have not settled. Several have the same stamp.
  const stamps = Array.from(
    { length: 60 },
    (_, i) => new Date(now - (i < 10 ? i * 20_000 : draw.below(20 * 86_400_000))),
  )
  const all: [RecordCollection, Stored[]][] = []
  for (const collection of recordCollections) {
    const found: Stored[] = []
    for await (const batch of store.dangerouslyReadAll(collection)) {
      for (const stored of batch) {
        const { changedAt: _, ...document } = (stored as { document: Stored }).document
        const stamp = document._id === UNSTAMPED ? null : draw.of(stamps)
        found.push({ ...document, [document.organisation === undefined ? 'deletedAt' : 'changedAt']: stamp })
      }
    }
    all.push([collection, found])
  }
  return Object.fromEntries(all) as never
}

/** What restricts a key of an organisation, in one of several ways. */
export const drawOnly = ({ ids, n }: Crossed, other: Crossed, draw: Draw, way: number): Only => {
  const some = (name: 'projects' | 'forms', length: number, among: Crossed['ids'] = ids) =>
    Array.from({ length }, () => draw.of(among[name].slice(0, 6)))
  const many = (name: 'projects' | 'forms') => [ids[name][0] as string, ...some(name, 3), ...ids[name].slice(-2)]
  const foreign = (name: 'projects' | 'forms') => [...some(name, 2, other.ids), `removed${markOf(n)}`, 'nobody']
  const ways: (() => Only)[] = [
    () => ({ project: [ids.projects[0] as string] }),
    () => ({ form: [ids.forms[0] as string] }),
    () => ({ project: many('projects'), form: many('forms') }),
    () => ({ project: [...foreign('projects'), ...many('projects')] }),
    () => ({ form: [...foreign('forms'), ...many('forms')] }),
    () => ({ project: foreign('projects') }),
    () => ({ project: [ids.projects[1] as string], form: foreign('forms').concat(many('forms')) }),
    () => ({ project: ['nobody'], form: [ids.forms[0] as string] }),
  ]
  const only = (ways[way % ways.length] as () => Only)()
  return Object.fromEntries(Object.entries(only).map(([kind, list]) => [kind, [...new Set(list)].sort()]))
}

/** The restrictions of a key that a collection cannot keep. Then it sees nothing of it. */
const kindsOf = (only: Only) => KINDS.filter((kind) => only[kind] !== undefined)
export const isSeen = (collection: CollectionName, only: Only): boolean =>
  kindsOf(only).every((kind) => isRecordCollection(collection) && FIELDS[collection]?.[kind] !== undefined)

/** Whether a record is in a scope. A field that is an array is of nobody. */
export const isInside = (collection: RecordCollection, record: Stored, only: Only): boolean =>
  kindsOf(only).every((kind) => only[kind]?.includes(record[FIELDS[collection]?.[kind] as string] as string))

const textsIn = (value: unknown) => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [])

/**
 * What there would be of a record or of a tombstone if nothing were stored but what a key sees: a record that has left its scope
 * has a tombstone, and nothing says that it was elsewhere.
 */
const partOf = (collection: RecordCollection, stored: Stored, only: Only): Stored | undefined => {
  const isTombstone = stored.organisation === undefined
  const former = (kind: (typeof KINDS)[number]): string[] | undefined => {
    const value = stored[FORMER[kind]]
    const isKnown = !isTombstone || value !== undefined
    return isKnown ? textsIn(value).filter((id) => only[kind]?.includes(id) ?? true) : undefined
  }
  const sets = { formerProjects: former('project'), formerForms: former('form') }
  const known = Object.fromEntries(Object.entries(sets).filter(([, ids]) => ids !== undefined))
  if (!isTombstone && isInside(collection, stored, only)) return { ...stored, ...known }
  const hasBeen = kindsOf(only).every((kind) => {
    const field = FIELDS[collection]?.[kind]
    const isIn = only[kind]?.includes(stored[field as string] as string)
    if (field === '_id') return isIn
    return isIn || former(kind)?.length !== 0
  })
  const stamp = isTombstone ? stored.deletedAt : stored.changedAt
  if (!hasBeen || !(stamp instanceof Date)) return undefined
  const { _id, project, form, organisation, deletedFrom = organisation } = stored
  const places = Object.entries({ project, form }).filter(([kind, id]) =>
    (only[kind as keyof Only] ?? [id]).includes(id as string),
  )
  return { _id, deletedFrom, deletedAt: stamp, ...Object.fromEntries(places), ...known }
}

/** What is stored of one organisation, under another name. Of some collections there is only what a key sees. */
export const copyOf = (
  all: All,
  organisation: string,
  name: string,
  only: Only,
  parts: readonly RecordCollection[],
): All => {
  const renamed = (owner: unknown): unknown =>
    Array.isArray(owner) ? owner.map(renamed) : owner === organisation ? name : owner
  /** The forms that are unknown as such, whose questions are those of the entries. */
  const asked = (collection: RecordCollection) => {
    const answers = all.entries.filter(
      (entry) => isInside('entries', entry, only) && entry.organisation === organisation,
    )
    const ids = new Set(answers.map(({ form }) => form).filter((id) => typeof id === 'string'))
    return collection === 'forms' ? [...ids].map((_id): Stored => ({ _id, organisation })) : []
  }
  const copied = (collection: RecordCollection) =>
    (parts.includes(collection) && !isSeen(collection, only) ? asked(collection) : all[collection])
      .filter((stored) => [stored.organisation ?? stored.deletedFrom].flat().includes(organisation))
      .flatMap((stored): Stored[] => {
        const part = parts.includes(collection) && isSeen(collection, only) ? partOf(collection, stored, only) : stored
        return part === undefined ? [] : [part]
      })
      .map((stored) => ({
        ...stored,
        ...(stored.organisation !== undefined && { organisation: renamed(stored.organisation) }),
        ...(stored.deletedFrom !== undefined && { deletedFrom: renamed(stored.deletedFrom) }),
      }))
  return Object.fromEntries(recordCollections.map((name) => [name, copied(name)])) as never
}

/** The collections whose records may be embedded in a record, or stand beside its ids. */
export const embedsOf = (collection: RecordCollection): readonly CollectionName[] =>
  Object.values(references[collection] ?? {})

/** The markers of an organisation's records that a key does not see. */
export const markersOutside = (all: All, organisation: string, only: Only): string[] =>
  recordCollections.flatMap((collection) => {
    const records = all[collection].filter((stored) => stored.organisation === organisation)
    const outside = records.filter((stored) => !isInside(collection, stored, only))
    return outside.flatMap((stored) => markersIn(JSON.stringify(stored)).map(({ marker }) => marker))
  })
