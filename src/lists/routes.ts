// The two kinds of operation that every resource has: a list, and a record by its id.
import { IdParams, type PageLimits } from '../../schemas/common.js'
import { one, page } from '../../schemas/envelope.js'
import { strict } from '../../schemas/kit.js'
import { linked, problemsOn, tagged } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import type { Resource } from '../core/pipelines/resource.js'
import { getRecord, listRecords } from './list.js'

const LIST =
  'A page of the records that match every given filter, in the order of `sortBy` and `sortOrder`. To read a whole list, begin with `cursor=*`: such pages cost the same however deep they are, while the pages of a number cost more the higher it is.'
const RECORD = 'An id that another organisation has gets the same response as one that nobody has.'

export const listRoute = (resource: Resource, limits: PageLimits): Route => {
  const { collection, tag, operationIds, descriptions, query, item } = resource
  return {
    path: `/${collection}`,
    operationId: operationIds.list,
    summary: `Get ${collection}`,
    description: `${descriptions.list}\n\n${LIST}`,
    tag: tag.name,
    query: query(limits),
    response: page(item.schema),
    problems: [...problemsOn(collection), 'invalid_cursor', 'response_too_large'],
    headers: linked,
    operation: (reader, asked) => listRecords(reader, resource, asked),
  }
}

export const recordRoute = (resource: Resource): Route => {
  const { collection, name, article, tag, operationIds, descriptions, parameters = {}, record } = resource
  return {
    path: `/${collection}/:id`,
    operationId: operationIds.get,
    summary: `Get ${article} ${name} by its id`,
    description: `${descriptions.get}\n\n${RECORD}`,
    tag: tag.name,
    params: IdParams(name),
    query: strict(parameters),
    response: one(record.schema),
    problems: [...problemsOn(collection), 'not_found', 'response_too_large'],
    headers: tagged,
    operation: (reader, asked) => getRecord(reader, resource, asked),
  }
}
