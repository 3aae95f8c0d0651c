// Where records have been, as the stores write it: on the server of TEST_MONGODB_URI, or without one on the embedded store.
import t from 'tap'
import { recordCollections } from '../../../src/core/documents/collections.js'
import { formerOf, keptOf } from '../../../src/core/documents/former.js'
import type { Store } from '../../../src/core/store/store.js'
import { testStore } from '../../support/store.js'
import { A, a } from '../../support/tenants.js'

type Narrowed = 'entries' | 'dispatches'
type Place = { readonly project?: string; readonly form?: string }
type Step = (store: Store, name: Narrowed) => Promise<unknown>

const _id = 'moving'
const KEPT = ['organisation', 'deletedFrom', 'project', 'form', 'formerProjects', 'formerForms']

const recordIn = (name: Narrowed, place: Place) => {
  const { project: _project, form: _form, ...record } = name === 'entries' ? a.entry(1) : a.dispatch(1)
  return { ...record, ...place, _id } as never
}
const add =
  (place: Place, skipTaken = false): Step =>
  (store, name) =>
    store.insert(name, [recordIn(name, place)], { skipTaken })
const move =
  (place: Place): Step =>
  (store, name) =>
    store.upsert(name, [recordIn(name, place)])
const remove: Step = (store, name) => store.remove(name, A, [_id])
/** Another program sets fields. */
const fault =
  (fields: object): Step =>
  (store, name) =>
    store.update(name, _id, fields as never)

const here = { project: 'p1', form: 'f1' }
const there = { project: 'p2', form: 'f1' }

/** Each has its steps, and what is stored then of the place, without the organisation. */
const histories: [title: string, steps: Step[], expected: object][] = [
  ['a record that has not moved has no sets', [add(here), move(here), add(here, true)], here],
  ['a record that moves keeps where it was', [add(here), move(there)], { ...there, formerProjects: ['p1'] }],
  ['also of both, and if it moves to none', [add(here), move({})], { formerProjects: ['p1'], formerForms: ['f1'] }],
  ['a record that comes from none has left nothing', [add({}), move(here)], here],
  [
    'a record that moves twice keeps both, also while it stays',
    [add(here), move({ project: 'p2' }), move({ project: 'p3' }), move({ project: 'p3' })],
    { project: 'p3', formerProjects: ['p1', 'p2'], formerForms: ['f1'] },
  ],
  [
    'a record that moves back has left the other one',
    [add(here), move(there), move(here)],
    { ...here, formerProjects: ['p2'] },
  ],
  ['and leaves again, once', [add(here), move(there), move(here), move(there)], { ...there, formerProjects: ['p1'] }],
  ['ids taken are skipped, whatever the place', [add(here), add(there, true)], here],
  [
    'a tombstone has all places in its sets',
    [add(here), move(there), remove],
    { ...there, formerProjects: ['p1', 'p2'], formerForms: ['f1'] },
  ],
  ['a tombstone has its sets, also empty', [add({}), remove], { formerProjects: [], formerForms: [] }],
  ['a record that was deleted has none if it is created there again', [add(here), remove, add(here)], here],
  [
    'but what it was in before, by a change too',
    [add(here), move(there), remove, move(there)],
    { ...there, formerProjects: ['p1'] },
  ],
  [
    'and if it is created elsewhere, also if ids taken are skipped',
    [add(here), move(there), remove, add({ project: 'p3' }, true)],
    { project: 'p3', formerProjects: ['p1', 'p2'], formerForms: ['f1'] },
  ],
  [
    'sets of a tombstone that are no arrays count as empty',
    [add({}), remove, fault({ formerProjects: null, formerForms: 5 }), add(here)],
    here,
  ],
  [
    'as do those of a record, and a place that is no text counts as none',
    [add(here), fault({ project: ['p0'], formerProjects: 'p0', formerForms: {} }), move({ project: 'p2', form: 'f2' })],
    { project: 'p2', form: 'f2', formerForms: ['f1'] },
  ],
  [
    'also in a tombstone',
    [add(here), fault({ project: ['p0'], formerProjects: 'p0', formerForms: null }), remove],
    { project: ['p0'], form: 'f1', formerProjects: [], formerForms: ['f1'] },
  ],
]

for (const [title, steps, expected] of histories) {
  t.test(title, async (t) => {
    const owner = steps.at(-1) === remove ? { deletedFrom: A } : { organisation: A }
    for (const name of ['entries', 'dispatches'] as const) {
      const store = testStore(t)
      for (const step of steps) await step(store, name)
      const stored = { ...((await store.dangerouslyFind(name, _id)) as object) } as Record<string, unknown>
      for (const set of ['formerProjects', 'formerForms']) {
        // The order of a set is up to the database.
        if (Array.isArray(stored[set])) stored[set].sort()
      }
      const fields = Object.entries(stored).filter(([field]) => KEPT.includes(field))
      t.strictSame(Object.fromEntries(fields), { ...owner, ...expected }, name)
    }
  })
}

t.test('a stamp that is set later leaves the sets as they are', async (t) => {
  const store = testStore(t)
  for (const step of [add(here), move(there), fault({ changedAt: null })]) await step(store, 'entries')
  for await (const _ of store.stamp('entries'));
  t.match(await store.dangerouslyFind('entries', _id), { formerProjects: ['p1'], changedAt: Date })
})

t.test('other collections keep nothing', async (t) => {
  for (const name of recordCollections.filter((name) => name !== 'entries' && name !== 'dispatches'))
    t.same([keptOf(name), formerOf(name, here)], [{}, {}], name)
})
