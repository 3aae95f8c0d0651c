// Admins of an organisation, in the shapes in which dispatches and projects embed them.
import { type Static, Type } from '@sinclair/typebox'
import { Id, Text, Timestamp } from './common.js'

const { id, ...fields } = {
  id: Id('Id of the user.', '5f8d0d55b54764421b7156c1'),
  status: Text('Status of the user’s account.', 'active'),
  firstName: Text('Given name.', 'Amina'),
  lastName: Text('Family name.', 'Bello'),
  email: Type.Optional(Text('Email address.', 'amina.bello@example.org')),
  createdAt: Timestamp('When the user was created.'),
  updatedAt: Timestamp('When the user was last changed.'),
  lastLogin: Type.Optional(Timestamp('When the user last logged in. Left out before the first login.')),
}

export type User = Static<typeof User>
/** The admin who created or changed a dispatch. */
export const User = Type.Object(
  { id, ...fields },
  { $id: 'User', description: 'An admin of the organisation, as dispatches embed it.' },
)

export type ProjectUser = Static<typeof ProjectUser>
/** The admin who created or changed a project: a user with a role. */
export const ProjectUser = Type.Object(
  {
    id,
    role: Type.Optional(
      Type.Object({ name: Text('Name of the role.', 'Administrator') }, { description: 'Role of the user.' }),
    ),
    ...fields,
  },
  { $id: 'ProjectUser', description: 'An admin of the organisation with a role, as projects embed it.' },
)
