// GET /v1/forms and GET /v1/forms/:id.
import type { FastifyInstance } from 'fastify'
import type { PageLimits } from '../../schemas/common.js'
import { Form, FormListQuery } from '../../schemas/forms.js'
import { getForm, listForms } from '../pipelines/forms.js'
import { getOperation, listOperation } from './operations.js'

export const formRoutes = (app: FastifyInstance, limits: PageLimits): void => {
  listOperation(app, {
    operationId: 'listForms',
    url: '/forms',
    tag: 'Forms',
    summary: 'Get forms',
    description: 'Forms by their names and sectors, without their questions: an answer carries its own question.',
    query: FormListQuery(limits),
    item: Form,
    pipeline: listForms,
  })
  getOperation(app, {
    operationId: 'getForm',
    url: '/forms/:id',
    tag: 'Forms',
    summary: 'Get a form by its id',
    description: 'A form, with the same fields as in the list.',
    resource: Form,
    pipeline: getForm,
  })
}
