// What aggregations of entries have in common: the values that count, and how a result becomes objects.
import { Type } from '@sinclair/typebox'
import type { BsonList } from '../bson/reader.js'
import { runInSlices } from '../limits/work.js'
import type { Expression } from '../pipelines/stages.js'
import { jsonArray } from '../serializer/json.js'
import { giveBack, Output } from '../serializer/output.js'
import { writeAll } from '../serializer/rows.js'
import { compileDocuments } from '../serializer/writer.js'

export const LONGITUDE = '$location.coordinates.longitude'
export const LATITUDE = '$location.coordinates.lattitude'
export const NOTHING: Expression = { $literal: null }
const [YEAR_1, YEAR_9999] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map((text) => new Date(text))

/** Compares in the order of BSON, in which a value of another type is outside of a range. */
const within = (value: Expression, least: Expression, most: Expression): Expression[] => [
  { $gte: [value, least] },
  { $lte: [value, most] },
]
/** Whether an entry has a place on the map. */
export const isPlace: Expression = { $and: [...within(LONGITUDE, -180, 180), ...within(LATITUDE, -90, 90)] }
/** When an entry was created, or null. */
export const created: Expression = {
  $cond: [{ $and: within('$createdAt', { $literal: YEAR_1 }, { $literal: YEAR_9999 }) }, '$createdAt', NOTHING],
}
/** A finite number, or null. */
export const finite = (value: Expression): Expression => ({
  $cond: [{ $and: within(value, -Number.MAX_VALUE, Number.MAX_VALUE) }, value, NOTHING],
})
const TEXTS = ['string', 'objectId', 'int', 'long', 'double']
/** A text, an ObjectId or a number as a text. Null for any other value. */
export const textOf = (value: Expression): Expression => ({
  $cond: [{ $in: [{ $type: value }, { $literal: TEXTS }] }, { $toString: value }, NOTHING],
})

const write = compileDocuments({ schema: Type.Unknown(), named: new Map() })

/** The documents of a result as objects. A date is a text. */
export const objectsOf = async <T>({ documents }: BsonList, signal?: AbortSignal): Promise<T[]> => {
  const out = new Output()
  await runInSlices(writeAll(documents, jsonArray(write), out), signal)
  const json = out.take()
  const objects = JSON.parse(json.toString())
  giveBack(json)
  return objects
}
