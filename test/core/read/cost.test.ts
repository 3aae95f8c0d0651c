// What a list costs, and what a caller is told when the database takes too long for it.

import { MongoServerError } from 'mongodb'
import t from 'tap'
import type { Index } from '../../../src/core/documents/indexes.js'
import { dispatches } from '../../../src/core/pipelines/dispatches.js'
import { entries } from '../../../src/core/pipelines/entries.js'
import type { Resource } from '../../../src/core/pipelines/resource.js'
import { isLargePage, onTimeout, timeoutProblem } from '../../../src/core/read/cost.js'
import { selectionOf } from '../../../src/core/read/selection.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { storeError } from '../../../src/core/store/mongo-errors.js'
import { listing } from '../../support/queries.js'

const store = embeddedStore()
/** A database to which an operator has added an index. */
const added = { knownIndexes: (): Index[] => [['organisation', 'form', 'status', '_id']] }
const selected = (parameters: object = {}, resource: Resource = entries) =>
  selectionOf(resource, undefined, listing(parameters))
const isLarge = (known: Parameters<typeof isLargePage>[0], parameters: object, resource?: Resource) =>
  isLargePage(known, selected(parameters, resource), listing(parameters).perPage)
const time = new Date(0)
const box = { west: 1, south: 2, east: 3, north: 4 }

t.test('a list is large if it shows many records, or if no index serves it', async (t) => {
  for (const [parameters, expected] of [
    [{}, false],
    [{ perPage: 51 }, true],
    [{ ids: ['a'], status: 'x', sortBy: 'duration' }, false],
    [{ idFrom: 'a', idTo: 'b' }, false],
    [{ status: 'x' }, false],
    [{ status: 'x', idFrom: 'a' }, false],
    [{ status: 'x', form: 'y' }, true],
    [{ status: 'x', sortBy: 'createdAt' }, true],
    [{ sortBy: 'createdAt', createdSince: time, createdBefore: time }, false],
    [{ createdSince: time }, true],
    [{ sortBy: 'duration' }, true],
    [{ bbox: box }, true],
    [{ bbox: { ...box, west: 5 } }, true],
  ] as const) {
    t.equal(isLarge(store, parameters), expected, JSON.stringify(parameters))
  }
  t.equal(isLarge(store, { status: 'drafts' }, dispatches), false)
  t.equal(isLarge(added, { status: 'x', form: 'y' }), false, 'an operator has added an index')
  const within = (fields: string[], parameters = {}) =>
    isLargePage(store, { ...selected(parameters), within: fields }, 50)
  t.equal(within(['project']), false, 'an index begins with what a scope narrows')
  t.equal(within(['project'], { sortBy: 'createdAt' }), true)
  t.equal(within(['_id'], { sortBy: 'createdAt' }), false, 'a few records are found by their ids')
  const without = { knownIndexes: () => [] }
  t.equal(isLarge(without, { status: 'x' }), true, 'a database without indexes')
})

t.test('the problem of a list that took too long names its parameters, and what would help', async (t) => {
  const byOperator = (fields: string, effect = 'serve it') =>
    `the index 'entries: ${fields}' would ${effect}, if the operator adds it`
  for (const [parameters, names, advice] of [
    [{}, '', 'try again later'],
    [{ status: 'x' }, ' for status', 'try again later'],
    [{ ids: ['a'] }, ' for ids', 'try again later'],
    [{ status: 'x', form: 'y' }, ' for form, status', byOperator('form, status')],
    [{ sortBy: 'duration' }, ' for sortBy', byOperator('duration')],
    [{ sortBy: 'duration', agent: 'x' }, ' for agent, sortBy', byOperator('agent, duration')],
    [{ agent: 'x', updatedSince: time }, ' for agent, updatedSince', byOperator('agent, updatedAt', 'help')],
    [{ updatedSince: time }, ' for updatedSince', 'with sortBy=updatedAt, an index serves it'],
    [{ bbox: box }, ' for bbox', 'a narrower filter may help'],
    [{ page: 900 }, ' for page', 'read on with cursor instead of page'],
    [
      { page: 900, status: 'x', sortBy: 'duration' },
      ' for status, sortBy, page',
      'read on with cursor instead of page',
    ],
    [{ page: 900, after: 'x' }, '', 'try again later'],
    [{ page: 900, cursor: 'x' }, '', 'try again later'],
  ] as const) {
    const { page, after, cursor } = listing(parameters)
    const isFar = page > 1 && after === undefined && cursor === undefined
    t.match(timeoutProblem(store, selected(parameters), isFar), {
      code: 'query_timeout',
      status: 503,
      message: `The database took too long${names}: ${advice}`,
      extra: { headers: { 'retry-after': /^\d+$/ } },
    })
  }
})

t.test('an index that an operator has added is not advised again', async (t) => {
  const problem = timeoutProblem(added, selected({ status: 'x', form: 'y' }), false)
  t.match(problem, { message: 'The database took too long for form, status: try again later' })
})

t.test('a request with parameters of its own is named by them', async (t) => {
  const asked = selected({ form: 'x', createdSince: time, sortBy: 'createdAt' })
  const problem = timeoutProblem(store, { ...asked, given: ['datetime', 'form'] }, false)
  t.match(problem, { message: /^The database took too long for datetime, form: / })
})

t.test('a sort that needs too much memory is the same problem, and any other error stays as it is', async (t) => {
  for (const code of [50, 292]) {
    const error = storeError(new MongoServerError({ message: 'no', code }))
    t.throws(() => onTimeout(() => timeoutProblem(store, selected(), false))(error), { code: 'query_timeout' })
  }
  const other = new Error('broken')
  t.throws(() => onTimeout(() => timeoutProblem(store, selected(), false))(other), other)
})
