// Bytes that cannot be read.
import t from 'tap'
import { elements } from '../../../src/core/bson/reader.js'
import { withBsonErrors } from '../../../src/core/write/errors.js'

t.test('damaged bytes are an error that names their collection, and any other error stays', async (t) => {
  const read = () => withBsonErrors('things', () => [...elements(Buffer.from([5, 0, 0, 0]), 0)])
  t.throws(read, {
    name: 'UnreadableDocument',
    collection: 'things',
    id: '?',
    detail: /^the document cannot be read: /,
  })
  const error = new Error('other')
  const failing = () => {
    throw error
  }
  t.throws(() => withBsonErrors('things', failing), error)
})
