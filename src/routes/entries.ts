// GET /v1/entries and GET /v1/entries/:id.
import type { FastifyInstance } from 'fastify'
import type { PageLimits } from '../../schemas/common.js'
import { Entry, EntryListItem, EntryListQuery } from '../../schemas/entries.js'
import { getEntry, listEntries } from '../pipelines/entries.js'
import { getOperation, listOperation } from './operations.js'

export const entryRoutes = (app: FastifyInstance, limits: PageLimits): void => {
  listOperation(app, {
    operationId: 'listEntries',
    url: '/entries',
    tag: 'Entries',
    summary: 'Get entries',
    query: EntryListQuery(limits),
    item: EntryListItem,
    pipeline: listEntries,
  })
  getOperation(app, {
    operationId: 'getEntry',
    url: '/entries/:id',
    tag: 'Entries',
    summary: 'Get an entry by its id',
    resource: Entry,
    pipeline: getEntry,
  })
}
