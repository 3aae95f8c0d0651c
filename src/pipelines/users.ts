// The queries of listUsers and getUser. They are pure functions, without I/O.
import { User, type UserListQuery } from '../../schemas/users.js'
import { chosen, common } from './lists.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<UserListQuery> = {
  status: (status) => ({ status }),
  ...common,
}

const fields = pick(User)

export const listUsers = (scope: Scope, listing: UserListQuery): Query =>
  Query.in(scope, 'users', conditions(filters, listing), [...sortedPage(listing), chosen(fields, listing)])

export const getUser = (scope: Scope, id: string): Query => Query.in(scope, 'users', [{ _id: id }], [fields])
