// What questions take of memory while they are counted. What they count is tested at their route.
import { BSON } from 'mongodb'
import t from 'tap'
import { BsonDocument } from '../../../src/core/bson/reader.js'
import { observe } from '../../../src/core/read/form-questions.js'
import type { Reader } from '../../../src/core/read/reader.js'
import { heapUsed } from '../../support/heap.js'
import { leftToGate } from '../../support/thorough.js'

t.test(
  'the answers of open questions take no more memory than is reserved for them',
  { skip: leftToGate },
  async (t) => {
    let most = 0
    const reader = {
      select: () => ({}),
      async each(_selection: unknown, use: (rows: readonly BsonDocument[]) => Promise<boolean>, { needs = 0 }) {
        const before = heapUsed()
        for (let n = 0; n < 110; n++) {
          const entry = { answers: [{ type: 'text', question: `${n}?`, answer: `${n}${'x'.repeat(1_000_000)}` }] }
          await use([new BsonDocument('entries', Buffer.from(BSON.serialize(entry)))])
          if (n % 55 === 54) most = Math.max(most, heapUsed() - before - needs)
        }
      },
    }
    const observed = await observe(reader as unknown as Reader, {}, { hasWords: true })
    t.equal(typeof observed === 'string' ? observed : observed.questions.length, 110)
    t.ok(most < 20_000_000, `${most} bytes more`)
  },
)
