// What aggregations of entries have in common: the values that count, and how a result becomes objects.
import type { BsonList } from '../bson/reader.js'
import { runInSlices } from '../limits/work.js'
import type { Expression } from '../pipelines/stages.js'
import { storedOf } from '../store/store.js'

export const LONGITUDE = '$location.coordinates.longitude'
export const LATITUDE = '$location.coordinates.lattitude'
export const NOTHING: Expression = { $literal: null }
export const [YEAR_1, YEAR_9999] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map(
  (text) => new Date(text),
) as [Date, Date]

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

/** How many documents become objects before other requests go on. */
const STEP = 500

function* decoded<T>({ collection, documents }: BsonList): Generator<void, T[]> {
  const objects: T[] = []
  for (const { bytes } of documents) {
    const stored = storedOf(bytes)
    if ('error' in stored) throw new Error(`A result of ${collection} cannot be read: ${stored.error}`)
    objects.push(stored.document as T)
    if (objects.length % STEP === 0) yield
  }
  return objects
}

/** The documents of a result as objects, with the types of the driver. */
export const objectsOf = <T>(list: BsonList, signal?: AbortSignal): Promise<T[]> =>
  runInSlices(decoded<T>(list), signal)

/** A text, an ObjectId or a number as a text. Null for any other value. */
export const shownText = (value: unknown): string | null => {
  const { _bsontype: type = typeof value } = (value ?? {}) as { _bsontype?: string }
  return ['string', 'number', 'ObjectId', 'Long'].includes(type) ? String(value) : null
}
