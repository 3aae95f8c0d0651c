// The queries of listForms and getForm. They are pure functions, without I/O.
import { Form, type FormListQuery } from '../../schemas/forms.js'
import { chosen, common } from './lists.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<FormListQuery> = {
  name: (name) => ({ name }),
  status: (status) => ({ status }),
  ...common,
}

const fields = pick(Form)

export const listForms = (scope: Scope, listing: FormListQuery): Query =>
  Query.in(scope, 'forms', conditions(filters, listing), [...sortedPage(listing), chosen(fields, listing)])

export const getForm = (scope: Scope, id: string): Query => Query.in(scope, 'forms', [{ _id: id }], [fields])
