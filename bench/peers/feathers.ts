// Peer: Feathers with its MongoDB adapter. References are resolved as its guide shows, and a hook puts the results into the
// contract's envelope.
import { feathers, type HookContext } from '@feathersjs/feathers'
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa'
import { MongoDBService } from '@feathersjs/mongodb'
import { resolve, resolveResult, virtual } from '@feathersjs/schema'
import { type Document, MongoClient } from 'mongodb'
import { pageLimits } from '../requests.js'
import { mongodbUri, organisation, port } from './environment.js'

const db = (await MongoClient.connect(mongodbUri())).db()
const app = koa(feathers())

const serve = (path: string, collection: string) => {
  const paginate = { default: pageLimits.perPage, max: pageLimits.maxPerPage }
  app.use(path, new MongoDBService({ Model: db.collection(collection), disableObjectify: true, paginate }))
}

const names = {
  id: virtual<Document, string, HookContext>(async ({ _id }: Document) => _id),
  _id: async () => undefined,
  organisation: async () => undefined,
  changedAt: async () => undefined,
}
/** Embeds the document that a field refers to when one record is requested. A list keeps the id. */
const embedded =
  (service: string, ...fields: string[]) =>
  async (id: unknown, _record: Document, { method }: HookContext) =>
    method === 'get' ? app.service(service).get(id as string, { query: { $select: ['id', ...fields] } }) : id

const entryResolver = resolve<Document, HookContext>({
  ...names,
  dispatch: embedded(
    'dispatches',
    ...['dispatchType', 'status', 'name', 'totalExpectedEntries', 'createdAt', 'updatedAt'],
  ),
  form: embedded('forms', 'dispatched', 'status', 'name', 'reason', 'createdAt', 'updatedAt'),
  project: embedded('projects', 'name', 'modifiedBy', 'createdAt', 'updatedAt'),
  agent: embedded(
    'agents',
    ...['status', 'firstName', 'lastName', 'email', 'phone', 'location', 'createdAt', 'updatedAt'],
  ),
})

/** Turns the contract's parameters into those of Feathers, and its result into the contract's envelope. */
const envelope = async (context: HookContext, next: () => Promise<void>) => {
  const { page = pageLimits.page, perPage = pageLimits.perPage, ...filters } = context.params.query ?? {}
  const own = { ...filters, organisation: organisation() }
  const paging = { $sort: { _id: 1 }, $limit: Number(perPage), $skip: (Number(page) - 1) * Number(perPage) }
  context.params.query = context.method === 'find' ? { ...own, ...paging } : own
  await next()
  if (context.method === 'get') {
    context.result = { success: true, data: context.result }
  } else {
    const { total, limit, data } = context.result
    context.result = { success: true, data, _metadata: { total, perPage: limit, pageCount: Math.ceil(total / limit) } }
  }
}

app.use(errorHandler())
app.use(bodyParser())
app.configure(rest())
serve('v1/entries', 'entries')
app.service('v1/entries').hooks({ around: { all: [envelope, resolveResult(entryResolver)] } })
for (const name of ['dispatches', 'forms', 'projects', 'agents']) {
  serve(name, name)
  app.service(name).hooks({ around: { all: [resolveResult(resolve<Document, HookContext>(names))] } })
}
await app.listen(port, '127.0.0.1')
