// Writes entries as the features of a response of GeoJSON (RFC 7946).
import type { TObject } from '@sinclair/typebox'
import type { View } from '../../schemas/views.js'
import type { BsonDocument, BsonList } from '../bson/reader.js'
import { compileFeatures } from './geojson.js'
import type { Output } from './output.js'
import { writeRows } from './rows.js'

/**
 * Compiles a writer of features. A record that does not fit fails the response.
 * @param record the schema of a record as it is stored
 * @param view what the caller sees of it
 */
export const featureWriter = (record: TObject, view: View) => {
  const write = compileFeatures(view.shown(record), view.named())
  const format = { begin: '', between: ',', end: '', write }
  return {
    /** Writes features as a JSON array, in steps. */
    *list(records: BsonList, out: Output): Generator<void> {
      out.text('[')
      yield* writeRows(records, format, out, true, (_, error) => {
        throw error
      })
      out.text(']')
    },
    /** Writes a feature with further members. */
    one(record: BsonDocument, members: object, out: Output): void {
      write(record, out)
      out.length -= '}'.length
      out.text(`,${JSON.stringify(members).slice('{'.length)}`)
    },
  }
}
