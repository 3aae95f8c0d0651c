// A page that is too large. It has a process of its own, because it keeps the stand-in server busy.
import { Binary } from 'mongodb'
import t from 'tap'
import { entries as entryResource } from '../../../src/core/pipelines/entries.js'
import { mongoStore } from '../../../src/core/store/mongo.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from '../../../src/core/write/errors.js'
import { listQuery } from '../../support/queries.js'
import { mongoSettings } from '../../support/store.js'
import { A, a } from '../../support/tenants.js'
import { leftToGate } from '../../support/thorough.js'
import { WireServer } from '../../support/wire-server.js'

const ANSWER_BYTES = 1_000_000
/** The documents of a batch of the server, which has at most 16 MB. */
const BATCH = 15
/** Two batches more than a response may have. */
const COUNT = Math.ceil(MAX_RESPONSE_BYTES / ANSWER_BYTES) + 2 * BATCH

t.test(
  'A page whose documents are too large for a response is not read to its end',
  { skip: leftToGate },
  async (t) => {
    const server = await WireServer.for(t)
    const store = mongoStore(mongoSettings(server.uri))
    t.teardown(() => store.close())
    // Binary, which the stand-in copies quickly.
    const question = new Binary(Buffer.alloc(ANSWER_BYTES)) as unknown as string
    const answers = [{ type: 'singleChoice' as const, question, answer: 'a' }]
    const entries = Array.from({ length: COUNT }, (_, i) => ({ ...a.entry(0), _id: `large${i}`, answers }))
    await server.store.insert('entries', entries)
    const page = (perPage: number) =>
      store.aggregate(
        listQuery(entryResource, { organisation: A }, { sortBy: 'id', sortOrder: 'asc', page: 1, perPage }),
      )

    server.firstBatch = 3
    server.furtherBatch = BATCH
    await t.rejects(page(COUNT), ResponseTooLarge)
    const read = server.commands.filter((command) => 'getMore' in command).length
    const all = Math.ceil((COUNT - 3) / BATCH)
    t.ok(read > 1 && read < all, `${read} batches were read of ${all}`)
    t.equal(server.cursors, 0, 'no cursor stays open')
    t.equal((await page(30)).documents.length, 30, 'a smaller page is read')
  },
)
