// Forms: what dispatches send to agents. The plain form is also embedded in dispatches; entries embed another shape.
import { type Static, Type } from '@sinclair/typebox'
import { exampleIds, Id, listQuery, NameFilter, type PageLimits, StatusFilter, Text, Timestamp } from './common.js'

const id = Id('Id of the form.', exampleIds.form)
const dispatched = Type.Boolean({ description: 'Whether the form was dispatched.', examples: [true] })
const status = Text('Status of the form.', 'active')
const name = Text('Name of the form.', 'Household water survey')
const reason = Type.Optional(Text('Purpose of the form.', 'Baseline study'))
const createdAt = Timestamp('When the form was created.')
const updatedAt = Timestamp('When the form was last changed.')

export type Form = Static<typeof Form>
export const Form = Type.Object(
  {
    id,
    dispatched,
    status,
    name,
    sector: Type.Optional(Text('Sector that the form belongs to.', 'Water and sanitation')),
    reason,
    createdAt,
    updatedAt,
  },
  { $id: 'Form', description: 'A form.' },
)

export type EntryForm = Static<typeof EntryForm>
/** The form that an entry answers. It has no `sector`. */
export const EntryForm = Type.Object(
  { id, dispatched, status, name, reason, createdAt, updatedAt },
  { $id: 'EntryForm', description: 'The form of an entry, without sector.' },
)

export type FormListQuery = Static<ReturnType<typeof FormListQuery>>
export const FormListQuery = (limits: PageLimits) =>
  listQuery('Form', Form, limits, ['createdAt', 'updatedAt', 'name'], {
    name: NameFilter('form'),
    status: StatusFilter('form', 'active'),
  })
