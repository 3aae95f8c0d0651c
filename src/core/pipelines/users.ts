// The resource users.
import { User, UserListQuery } from '../../../schemas/users.js'
import { defineResource, equal } from './resource.js'

export const users = defineResource<UserListQuery>({
  collection: 'users',
  name: 'user',
  article: 'a',
  tag: { name: 'Users', description: 'The admins, who create dispatches and projects' },
  descriptions: {
    list: 'Users with their role and e-mail address, which is personal data.',
    get: 'A user, with the same fields as in the list.',
  },
  query: UserListQuery,
  filters: equal('status'),
  item: { schema: User },
  record: { schema: User },
})
