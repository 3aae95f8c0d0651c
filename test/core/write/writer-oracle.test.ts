// The serializer compared with an oracle: for any documents that fit a schema, it writes the same text as JSON.stringify
// does for the fields of the schema.
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import t from 'tap'
import { Dispatch, DispatchListItem } from '../../../schemas/dispatches.js'
import { Entry, EntryListItem, ListedAnswer } from '../../../schemas/entries.js'
import { listed } from '../../../schemas/kit.js'
import { Project } from '../../../schemas/projects.js'
import { expectedJson, malformed, names, storedDocuments, wellFormed } from '../../support/oracle.js'
import { listOf, writerOf } from '../../support/stored.js'
import { runs } from '../../support/thorough.js'

/**
 * How many lists are tried for each schema of the contract, and how many schemas. Of seven errors in the writer that these
 * tests find, six were found within 13 lists of a test. The rarest, a wrong limit of numbers, needed 20 to 320 in one test.
 */
const LISTS = runs(14, 125)
const SCHEMAS = runs(50, 500)

let compared = 0

/** Lists of documents that fit a schema. */
const lists = (schema: TSchema) =>
  // Most lists only have valid UTF-8, which is copied. A list with an invalid string is decoded as a whole.
  fc
    .oneof(
      { weight: 3, arbitrary: fc.array(storedDocuments(schema, wellFormed), { maxLength: 12, size: 'max' }) },
      { weight: 1, arbitrary: fc.array(storedDocuments(schema, malformed), { maxLength: 12, size: 'max' }) },
    )
    .map((documents) => listOf(documents))

/** Schemas of every kind that the writer supports, nested in each other. */
const schemas: fc.Arbitrary<TSchema> = fc.letrec<{ any: TSchema; object: TSchema; alone: TSchema }>((tie) => {
  const scalars = [Type.String(), Type.Number(), Type.Boolean(), Type.String({ format: 'date-time' }), Type.Null()]
  return {
    object: fc
      .uniqueArray(
        fc.record({
          name: fc.oneof(
            fc.constantFrom('id', 'name', 'toString', '__proto__', 'é', '', '1'),
            names.map((name) => Buffer.from(name).toString()).filter((name) => name !== '_id'),
          ),
          property: tie('any'),
          optional: fc.boolean(),
        }),
        { selector: ({ name }) => name, maxLength: 5 },
      )
      .map((properties) =>
        Type.Object(
          Object.fromEntries(
            properties.map(({ name, property, optional }) => [name, optional ? Type.Optional(property) : property]),
          ),
        ),
      ),
    alone: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<TSchema>(...scalars, Type.Integer(), Type.Unknown(), listed({})),
      tie('any').map((items) => Type.Array(items)),
      tie('object'),
    ),
    any: fc.oneof(
      { weight: 5, arbitrary: tie('alone') },
      // The branches of a union support different BSON types.
      {
        weight: 1,
        arbitrary: fc.subarray<TSchema>([...scalars, Type.Array(Type.String())], { minLength: 1 }).map(Type.Union),
      },
      { weight: 1, arbitrary: tie('object').map((object) => Type.Union([Type.Null(), object, Type.String()])) },
    ),
  }
}).object

const compare = (schema: TSchema, list: ReturnType<typeof listOf>, writer = writerOf(schema)): void => {
  const expected = expectedJson(schema, list)
  const written = writer.list(list).toString()
  if (written !== expected) throw new Error(`Wrote ${written}\nfor   ${expected}`)
  compared += (JSON.parse(expected) as unknown[]).length
}

const answers = Type.Array(ListedAnswer)
const EntryWithLists = Type.Object({ ...EntryListItem.properties, answers }, { $id: 'EntryWithLists' })

for (const schema of [Entry, EntryListItem, EntryWithLists, Dispatch, DispatchListItem, Project]) {
  t.test(`Any list of ${schema.$id} is written as JSON.stringify writes its fields`, async (t) => {
    const writer = writerOf(schema)
    fc.assert(
      fc.property(lists(schema), (list) => compare(schema, list, writer)),
      { numRuns: LISTS },
    )
    t.pass()
  })
}

t.test('Any documents of any schema are written as JSON.stringify writes their fields', async (t) => {
  const cases = schemas.chain((schema) => fc.tuple(fc.constant(schema), lists(schema)))
  fc.assert(
    fc.property(cases, ([schema, list]) => compare(schema, list)),
    { numRuns: SCHEMAS },
  )
  t.pass()
})

t.test('At least four documents were compared for each list', async (t) => {
  t.ok(compared >= 4 * (6 * LISTS + SCHEMAS), `${compared} documents`)
})
