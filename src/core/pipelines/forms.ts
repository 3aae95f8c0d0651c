// The resource forms.
import { Form, FormListQuery } from '../../../schemas/forms.js'
import { defineResource, equal } from './resource.js'

export const forms = defineResource<FormListQuery>({
  collection: 'forms',
  name: 'form',
  article: 'a',
  tag: { name: 'Forms', description: 'What dispatches send and entries answer' },
  descriptions: {
    list: 'Forms by their names and sectors, without their questions: an answer carries its own question.',
    get: 'A form, with the same fields as in the list.',
  },
  query: FormListQuery,
  filters: equal('name', 'status'),
  item: { schema: Form },
  record: { schema: Form },
})
