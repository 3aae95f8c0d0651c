// The conditions of the filters of lists.

import t from 'tap'
import { dispatches } from '../../../src/core/pipelines/dispatches.js'
import { entries } from '../../../src/core/pipelines/entries.js'
import { listing } from '../../support/queries.js'

const [one, other] = [new Date(1), new Date(2)]
const within = (west: number, east: number) => ({
  'location.coordinates.longitude': { $gte: west, $lte: east },
  'location.coordinates.lattitude': { $gte: 2, $lte: 4 },
})

t.test('each filter is a condition; since is inclusive and before is exclusive', async (t) => {
  for (const [parameters, conditions] of [
    [{}, []],
    [{ ids: ['a', 'b'] }, [{ _id: { $in: ['a', 'b'] } }]],
    [{ idFrom: 'a', idTo: 'b' }, [{ _id: { $gte: 'a' } }, { _id: { $lt: 'b' } }]],
    [{ updatedSince: one, updatedBefore: other }, [{ updatedAt: { $gte: one } }, { updatedAt: { $lt: other } }]],
    [{ createdSince: one, createdBefore: other }, [{ createdAt: { $gte: one } }, { createdAt: { $lt: other } }]],
    [{ agent: 'x', status: 'y' }, [{ agent: 'x' }, { status: 'y' }]],
    [{ bbox: { west: 1, south: 2, east: 3, north: 4 } }, [within(1, 3)]],
    [{ bbox: { west: 170, south: 2, east: -170, north: 4 } }, [{ $or: [within(170, 180), within(-180, -170)] }]],
  ] as const) {
    t.same(Object.values(entries.conditions(listing(parameters))), conditions, JSON.stringify(parameters))
  }
  t.same(Object.values(dispatches.conditions(listing({ agent: 'x', status: 'suspended' }))), [
    { status: 'supended' },
    { 'recipients.agents': 'x' },
  ])
})
