// Rules that hold between the schemas of a resource, its pipelines and its stored documents. They need no server.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import { expandable } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { flat, hideable, isHidden, joinedDocument } from '../../schemas/kit.js'
import { type CollectionName, collections } from '../../src/core/documents/collections.js'
import { resources as declared } from '../../src/core/pipelines/index.js'
import { type Condition, pick, type Query, type Scope } from '../../src/core/pipelines/stages.js'
import { isLargePage } from '../../src/core/read/cost.js'
import { projectionOf } from '../../src/core/read/projection.js'
import { selectionOf } from '../../src/core/read/selection.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { listing } from '../support/queries.js'
import { eachResource, filtersOf, filterValue, resources, unserved } from '../support/resources.js'

const scope: Scope = { organisation: 'org' }

/** Each response schema with the query that reads its documents. */
const responses = eachResource.flatMap(([name, { item, record, list, get }]): [TObject, Query][] => [
  [{ ...projectionOf(declared[name], undefined).schema, $id: item.schema.$id as string }, list(scope)],
  [Type.Object(flat(item.schema), { $id: `${item.schema.$id} without joins` }), list(scope, { embed: 'false' })],
  [record.schema, get(scope, 'x')],
])

/** The joined fields of a query, each with the collection of its documents. */
const joinsOf = ({ stages, references }: Query): Map<string, CollectionName> => {
  const lookups = stages.flatMap(({ $lookup }): [string, CollectionName][] =>
    // A join by the id of the record adds a field, any other replaces an id.
    $lookup ? [[$lookup.localField === '_id' ? $lookup.as : $lookup.localField, $lookup.from]] : [],
  )
  const referred = references.flatMap(({ fields, find }) =>
    fields.map((field): [string, CollectionName] => [field, find([]).collection]),
  )
  return new Map([...lookups, ...referred])
}

const resolve = (schema: TSchema): TSchema =>
  schema.$ref === undefined ? schema : (namedSchemas.get(schema.$ref) as TSchema)

const fieldsOf = ({ match }: Query): string[] =>
  (match.$and as Condition[]).flatMap(Object.keys).filter((field) => field !== 'organisation')

t.test(
  'Each order of times and each filter in the order of ids is read from an index, whole and in parts',
  async (t) => {
    const wrong: string[] = []
    for (const [name, { query, sorts }] of eachResource.map(
      ([name, { query }]) => [name, { query, sorts: query.properties.sortBy?.enum as string[] }] as const,
    )) {
      const isSmall = (parameters: object) =>
        !isLargePage(embeddedStore(), selectionOf(declared[name], undefined, listing(parameters)), 50)
      for (const [filter, schema] of filtersOf(query)) {
        const field = /^(updated|created)(Since|Before)$/.exec(filter)?.[1]
        const sortBy = field === undefined ? 'id' : `${field}At`
        // What an unserved filter finds, the database sorts or looks through.
        const isServed = isSmall({ [filter]: filterValue(schema), sortBy })
        if (!sorts.includes(sortBy) || isServed === unserved.includes(filter)) wrong.push(`${name} by ${filter}`)
      }
      for (const sortBy of ['id', 'updatedAt', 'createdAt'])
        if (!isSmall({ sortBy })) wrong.push(`${name} sorted by ${sortBy}`)
    }
    t.same(wrong, [])
  },
)

t.test('`expand` embeds in the list of entries what an entry by id embeds', async (t) => {
  const { item, record, list, get } = resources.entries
  const expanded = list(scope, { expand: expandable })
  t.same(new Map([...joinsOf(expanded)].sort()), new Map([...joinsOf(get(scope, 'x'))].sort()))
  for (const field of expandable) {
    const [, shape] = (item.schema.properties[field] as TSchema).anyOf as TSchema[]
    t.equal(shape?.$ref, record.schema.properties[field]?.$ref, field)
    const kept = expanded.references.find(({ fields }) => fields.includes(field))?.find([]).stages
    t.same(kept, [pick(namedSchemas.get(shape?.$ref) as TObject)], field)
  }
})

t.test('A filter by a field that a key may not see is marked as the field is', async (t) => {
  const marked: string[] = []
  const wrong: string[] = []
  for (const [, { collection, query, list, item, record }] of eachResource) {
    const fields = { ...record.schema.properties, ...item.schema.properties }
    for (const [name, schema] of filtersOf(query)) {
      const used = fieldsOf(list(scope, { [name]: filterValue(schema) })).map((path) => path.split('.')[0])
      const shown = used.flatMap((field) => fields[field as string] ?? [])
      const kinds = hideable.filter((kind) => shown.some((property) => isHidden(property, [kind])))
      if (hideable.some((kind) => isHidden(schema, [kind]) !== kinds.includes(kind)))
        wrong.push(`${collection}: ${name}`)
      if (kinds.length > 0) marked.push(`${collection}.${name}`)
    }
  }
  t.same(wrong, [])
  t.same(
    marked,
    ['country', 'state', 'lga', 'city', 'bbox'].map((name) => `entries.${name}`),
  )
})

/** The paths of the properties that a response schema marks as joined. */
const joinedPaths = (schema: TSchema, path = ''): string[] =>
  Object.entries<TSchema>(resolve(schema).properties ?? {}).flatMap(([name, property]) =>
    joinedDocument(property, namedSchemas) ? [path + name] : joinedPaths(property, `${path}${name}.`),
  )

t.test('A response schema marks as joined what its pipeline joins, and nothing else', async (t) => {
  for (const [schema, query] of responses) {
    t.same(joinedPaths(schema).sort(), [...joinsOf(query).keys()].sort(), schema.$id as string)
  }
})

/** What a response needs that a stored document may lack: each field with its error. */
const errorsOf = (
  response: TSchema,
  stored: TSchema,
  joins: ReadonlyMap<string, CollectionName>,
  path = '',
): string[] => {
  const { properties = {}, required = [] } = resolve(response)
  return Object.entries<TSchema>(properties).flatMap(([name, property]) => {
    const field = path + name
    const from = joins.get(field)
    const document = joinedDocument(property, namedSchemas)
    if (from !== undefined && document !== undefined) {
      const isCertain = property.type === 'array' || !required.includes(name)
      const errors = errorsOf(document, collections[from].schema, new Map(), `${field}.`)
      return isCertain ? errors : [`${field} is required, but its document may not exist`, ...errors]
    }
    const storedName = name === 'id' ? '_id' : name
    const source: TSchema | undefined = stored.properties[storedName]
    if (source === undefined) return [`${field} is not stored`]
    const isOptional = required.includes(name) && !stored.required?.includes(storedName)
    return [
      ...(isOptional ? [`${field} is required, but optional in storage`] : []),
      ...valueErrors(property, source, joins, field),
    ]
  })
}

const valueErrors = (
  response: TSchema,
  stored: TSchema,
  joins: ReadonlyMap<string, CollectionName>,
  field: string,
): string[] => {
  const schema = resolve(response)
  const branches: TSchema[] = schema.anyOf ?? [schema]
  const storedBranches: TSchema[] = stored.anyOf ?? [stored]
  return storedBranches.flatMap((source) => {
    const kind = kindOf(source)
    const branch = branches.find((each) => kindOf(each) === kind || kindOf(each) === 'anything')
    if (branch === undefined && isIdObject(schema) && kind === 'string') return []
    if (branch === undefined) return [`${field} is stored as ${kind}`]
    if (branch.type === 'array') return valueErrors(branch.items, source.items, joins, `${field}[]`)
    if (branch.type === 'object') return errorsOf(branch, source, joins, `${field}.`)
    return []
  })
}

/** A pipeline makes such an object of a stored id. */
const isIdObject = ({ properties }: TSchema) => Object.keys(properties ?? {}).join() === 'id'

const kindOf = ({ type = 'anything', format }: TSchema): string =>
  type === 'Date' || format === 'date-time' ? 'date' : type

t.test('A record that may be stored fits every response: what a response requires is always stored', async (t) => {
  for (const [schema, query] of responses) {
    t.same(errorsOf(schema, collections[query.collection].schema, joinsOf(query)), [], schema.$id as string)
  }
})
