// A record by its id.
import type { Listing } from '../../schemas/common.js'
import type { Resource } from '../pipelines/resource.js'
import { projectionOf } from '../reading/projection.js'
import type { Reader } from '../reading/reader.js'
import { compileDocuments } from '../serializer/writer.js'
import type { Asked, RowsAnswer } from './answer.js'

/** @throws the problem `not_found` */
export const getRecord = async (
  reader: Reader,
  resource: Resource,
  { params, query }: Asked<Pick<Listing, 'answers'>>,
): Promise<RowsAnswer> => {
  const projection = projectionOf(resource, reader.scope.without, query, 'record')
  const document = await reader.record(resource, params.id as string, projection)
  return {
    rows: [document],
    format: { write: projection.compiled(compileDocuments) },
    envelope: { before: { success: true }, name: 'data', after: () => ({}) },
    tag: { documents: [document], besides: Object.keys(query).length > 0 ? query : undefined },
  }
}
