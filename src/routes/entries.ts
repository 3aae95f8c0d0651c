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
    description:
      'Entries with all their answers. For a small response choose `fields`; for the records that an entry names, such as its agent, use `expand` instead of one request for each. To keep a copy, use the change feed.',
    query: EntryListQuery(limits),
    item: EntryListItem,
    pipeline: listEntries,
  })
  getOperation(app, {
    operationId: 'getEntry',
    url: '/entries/:id',
    tag: 'Entries',
    summary: 'Get an entry by its id',
    description:
      'An entry with its dispatch, form, project and agent in full. To read many entries, use the list with `ids` and `expand`.',
    resource: Entry,
    pipeline: getEntry,
  })
}
