// Users: the admins of an organisation, who create its dispatches and projects.
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { exampleIds, Id, listQuery, type PageLimits, StatusFilter, Text, Timestamp } from './common.js'
import { idOr, personal } from './kit.js'

const { id, ...fields } = {
  id: Id('Id of the user.', exampleIds.user),
  status: Text('Status of the user’s account.', 'active'),
  firstName: personal(Text('Given name.', 'Amina')),
  lastName: personal(Text('Family name.', 'Bello')),
  email: Type.Optional(personal(Text('Email address.', 'amina.bello@example.org'))),
  createdAt: Timestamp('When the user was created.'),
  updatedAt: Timestamp('When the user was last changed.'),
  lastLogin: Type.Optional(Timestamp('When the user last logged in. Left out before the first login.')),
}

export type User = Static<typeof User>
export const User = Type.Object(
  {
    id,
    role: Type.Optional(
      Type.Object(
        { name: Text('Name of the role.', 'Administrator') },
        { title: 'Role', description: 'Role of the user.' },
      ),
    ),
    ...fields,
  },
  { $id: 'User', description: 'An admin of the organisation.' },
)

export type DispatchUser = Static<typeof DispatchUser>
/** The admin who created or changed a dispatch. It has no `role`. */
export const DispatchUser = Type.Object(
  { id, ...fields },
  { $id: 'DispatchUser', description: 'An admin of the organisation, as dispatches embed it: without role.' },
)

/** Who created and who last changed a record, as a list shows them. */
export const authors = <T extends TObject>(record: T, resource: string) => {
  const who = (did: string) =>
    idOr(record, `Who ${did} the ${resource}`, exampleIds.user, 'With `embed=false`, the id.')
  return { createdBy: who('created'), modifiedBy: who('last changed') }
}

export type UserListQuery = Static<ReturnType<typeof UserListQuery>>
export const UserListQuery = (limits: PageLimits) =>
  listQuery('User', User, limits, ['createdAt', 'updatedAt'], {
    status: StatusFilter('user', 'active'),
  })
