// Newline-delimited JSON: each line is an item of the list.
import type { TSchema } from '@sinclair/typebox'
import type { RowFormat } from './rows.js'
import { compileDocuments } from './writer.js'

export const ndjson = (schema: TSchema, named: ReadonlyMap<string, TSchema>): RowFormat => {
  const documents = compileDocuments(schema, named)
  return {
    begin: '',
    between: '',
    end: '',
    write(document, out) {
      documents.document(document, out)
      out.text('\n')
    },
  }
}
