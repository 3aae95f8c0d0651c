// What all lists have in common: filters by id and by time, and the choice of fields.
import type { CommonFilters } from '../../schemas/common.js'
import type { FiltersFor, Listing, Stage } from './stages.js'

/** The conditions of the filters that every list has. */
export const common: FiltersFor<CommonFilters> = {
  ids: (ids) => ({ _id: { $in: ids } }),
  idFrom: (id) => ({ _id: { $gte: id } }),
  idTo: (id) => ({ _id: { $lt: id } }),
  updatedSince: (time) => ({ updatedAt: { $gte: time } }),
  updatedBefore: (time) => ({ updatedAt: { $lt: time } }),
  createdSince: (time) => ({ createdAt: { $gte: time } }),
  createdBefore: (time) => ({ createdAt: { $lt: time } }),
}

/** Whether a list shows a field. */
export const shows = ({ fields }: Listing, field: string): boolean => fields?.includes(field) ?? true

/**
 * Keeps only the fields of a list that the request chose, and always the id and the field that the list is sorted by.
 * @param kept keeps all fields of the list
 */
export const chosen = (kept: Required<Pick<Stage, '$project'>>, { fields, sortBy }: Listing): Stage => {
  if (fields === undefined) return kept
  const names = new Set(['_id', sortBy, ...fields])
  const paths = Object.entries(kept.$project).filter(([path]) => names.has(path.split('.')[0] as string))
  return { $project: Object.fromEntries(paths) }
}
