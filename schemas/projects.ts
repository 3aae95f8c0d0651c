// Projects: groups of dispatches. A project has the same fields in the list and by id.
import { type Static, Type } from '@sinclair/typebox'
import { exampleIds, Id, listQuery, NameFilter, type PageLimits, reference, Text, Timestamp } from './common.js'
import { joined, refTo } from './kit.js'
import { authors, User } from './users.js'

const id = Id('Id of the project.', exampleIds.project)
const name = Text('Name of the project.', 'Rural water access 2025')
const createdAt = Timestamp('When the project was created.')
const updatedAt = Timestamp('When the project was last changed.')

export type Project = Static<typeof Project>
export const Project = Type.Object(
  {
    id,
    dispatches: joined(
      Type.Array(reference('Dispatch', exampleIds.dispatch), {
        description: 'Dispatches of the project, in the order of their ids.',
      }),
    ),
    name,
    createdBy: Type.Optional(joined(refTo(User, 'Who created the project.'))),
    modifiedBy: Type.Optional(joined(refTo(User, 'Who last changed the project.'))),
    createdAt,
    updatedAt,
  },
  { $id: 'Project', description: 'A project.' },
)

/** The project of a list, where `embed` chooses who is shown in full. */
export const ProjectListItem = Type.Object(
  { ...Project.properties, ...authors(User, 'project') },
  { $id: 'ProjectListItem', description: 'A project in a list.' },
)

export type DispatchProject = Static<typeof DispatchProject>
/** The project of a dispatch. */
export const DispatchProject = Type.Object(
  { id, name, createdAt, updatedAt },
  { $id: 'DispatchProject', description: 'The project of a dispatch.' },
)

export type EntryProject = Static<typeof EntryProject>
/** The project of an entry. Here `modifiedBy` is the id of a user. */
export const EntryProject = Type.Object(
  {
    id,
    name,
    modifiedBy: Type.Optional(Id('Id of the user who last changed the project.', exampleIds.user)),
    createdAt,
    updatedAt,
  },
  { $id: 'EntryProject', description: 'The project of an entry. Here `modifiedBy` is the id of a user.' },
)

export type ProjectListQuery = Static<ReturnType<typeof ProjectListQuery>>
export const ProjectListQuery = (limits: PageLimits) =>
  listQuery('Project', ProjectListItem, limits, ['createdAt', 'name', 'updatedAt'], {
    name: NameFilter('project'),
  })
