// Peer: Express with mongoose, as mongoose's guide shows it: models, documents with toJSON, populate, countDocuments.
import express from 'express'
import mongoose, { Schema, type SchemaDefinition } from 'mongoose'
import { listingOf } from '../requests.js'
import { mongodbUri, organisation, port } from './environment.js'

const text = { type: String }
const reference = (ref: string) => ({ type: String, ref })

/** A schema with a string as `_id`, whose JSON has it as `id`, and leaves out the organisation and the change stamp. */
const record = (fields: SchemaDefinition) =>
  new Schema(
    { _id: text, organisation: text, changedAt: Date, ...fields },
    {
      timestamps: true,
      toJSON: {
        transform: (_document, { _id, organisation: _, changedAt: __, __v, ...fields }) => ({ id: _id, ...fields }),
      },
    },
  )

const location = { country: text, zone: text, state: text, city: text }
const person = { status: text, firstName: text, lastName: text, email: text, phone: text }
const Agent = record({ ...person, location: [new Schema(location, { _id: false })], lastLogin: Date })
const Form = record({ dispatched: Boolean, status: text, name: text, sector: text, reason: text })
const Project = record({ name: text, createdBy: text, modifiedBy: text })
const Dispatch = record({ dispatchType: text, status: text, name: text, totalExpectedEntries: Number })

const Answer = new Schema({ type: text, question: text, answer: Schema.Types.Mixed }, { _id: false })
const Entry = mongoose.model(
  'Entry',
  record({
    status: text,
    dispatch: reference('Dispatch'),
    form: reference('Form'),
    project: reference('Project'),
    agent: reference('Agent'),
    location: {
      ...{ address: text, country: text, state: text, lga: text, city: text },
      coordinates: { longitude: Number, lattitude: Number },
    },
    answers: [Answer],
    duration: Number,
  }),
)
mongoose.model('Agent', Agent)
mongoose.model('Form', Form)
mongoose.model('Project', Project)
mongoose.model('Dispatch', Dispatch)

const app = express()

app.get('/v1/entries', async (request, response) => {
  const { page, perPage, sortBy, sortOrder, ...filters } = listingOf(request.url)
  const match = { ...filters, organisation: organisation() }
  const [data, total] = await Promise.all([
    Entry.find(match)
      .sort({ _id: 1 })
      .skip((page - 1) * perPage)
      .limit(perPage),
    Entry.countDocuments(match),
  ])
  response.json({ success: true, data, _metadata: { total, perPage, pageCount: Math.ceil(total / perPage) } })
})

app.get('/v1/entries/:id', async (request, response) => {
  const entry = await Entry.findOne({ _id: request.params.id, organisation: organisation() })
    .populate('dispatch', 'dispatchType status name totalExpectedEntries createdAt updatedAt')
    .populate('form', 'dispatched status name reason createdAt updatedAt')
    .populate('project', 'name modifiedBy createdAt updatedAt')
    .populate('agent', 'status firstName lastName email phone location createdAt updatedAt')
  if (entry === null) response.status(404).end()
  else response.json({ success: true, data: entry })
})

await mongoose.connect(mongodbUri(), { autoIndex: false, autoCreate: false })
app.listen(port, '127.0.0.1')
