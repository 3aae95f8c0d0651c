// The text of a question in the cache says how much memory it takes.
import { BSON } from 'mongodb'
import t from 'tap'
import { BsonDocument } from '../../../src/core/bson/reader.js'
import { questionOf } from '../../../src/core/read/question-keys.js'
import type { Reader } from '../../../src/core/read/reader.js'
import { questionKey } from '../../../src/core/write/question-columns.js'

t.test('what the cache has of a question counts its text, also where no question has the key', async (t) => {
  const question = 'x'.repeat(500_000)
  const document = new BsonDocument('entries', Buffer.from(BSON.serialize({ answers: [{ question }] })))
  const results: { bytes?: number }[] = []
  const reader = {
    scope: { organisation: 'org-a' },
    select: () => ({}),
    each: (_selection: unknown, use: (rows: readonly unknown[]) => unknown) => use([document]),
    async cached(_key: unknown, read: (shared: unknown) => Promise<{ bytes?: number }>) {
      const result = await read(reader)
      results.push(result)
      return result
    },
  }
  const find = (key: string) => questionOf(reader as unknown as Reader, 'form', key, 'by')
  t.equal(await find(questionKey(question)), question)
  await t.rejects(find('0123456789ab'))
  const [found = {}, missing = {}] = results
  t.ok(
    Number(found.bytes) >= 2 * question.length && Number(missing.bytes) > 0,
    JSON.stringify(results.map((each) => each.bytes)),
  )
})
