// The buffers of responses: used again after a response was compressed or sent, and not earlier.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import accepts from '@fastify/accepts'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { compressionPlugin } from '../../../src/core/http/compression.js'
import { Output } from '../../../src/core/write/output.js'
import { listen } from '../../support/app.js'
import { leftToGate } from '../../support/thorough.js'

/** A megabyte. */
const bodyOf = (letter: string): string => letter.repeat(1_000_000)

/** Serves the body of a letter at its path. `sent` has the buffer of each response. */
const start = async (t: Test) => {
  const sent: Buffer[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onSend', async (_request, _reply, payload) => {
    sent.push(payload as Buffer)
    return payload
  })
  await app.register(accepts)
  await app.register(compressionPlugin)
  app.get<{ Params: { letter: string } }>('/:letter', async (request, reply) => {
    const out = new Output()
    out.text(bodyOf(request.params.letter))
    return reply.send(out.take())
  })
  const port = await listen(app)
  const get = async (letter: string, coding = 'identity') =>
    (await fetch(`http://127.0.0.1:${port}/${letter}`, { headers: { 'accept-encoding': coding } })).text()
  return { port, sent, get }
}

/** Requests each letter at once on one connection, and reads nothing yet. */
const request = async (port: number, letters: readonly string[]): Promise<Socket> => {
  const socket = connect({ host: '127.0.0.1', port }).pause()
  await once(socket, 'connect')
  socket.write(letters.map((letter) => `GET /${letter} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join(''))
  return socket
}

/** Reads until the last of the bodies is whole. */
const readAll = async (socket: Socket, bodies: readonly string[]): Promise<string> => {
  const least = bodies.join('').length
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (text.length >= least && text.endsWith(bodies.at(-1) as string)) break
  }
  return text
}

for (const coding of ['identity', 'br']) {
  t.test(`a buffer serves another response after its own was sent as ${coding}`, async (t) => {
    const { sent, get } = await start(t)
    for (let n = 0; n < 20; n++) t.equal(await get('a', coding), bodyOf('a'))
    const buffers = new Set(sent.map(({ buffer }) => buffer))
    t.ok(buffers.size < 10, `20 responses from ${buffers.size} buffers`)
  })
}

t.test(
  'a response that waits for a slow caller stays intact while others are sent',
  { skip: leftToGate },
  async (t) => {
    const { port, sent, get } = await start(t)
    const letters = [...'abcdefghijklmnopqrst']
    const slow = await request(port, letters)
    const others = Array.from({ length: 40 }, async (_, n) => {
      const letter = String.fromCharCode(0x41 + (n % 26))
      return (await get(letter)) === bodyOf(letter)
    })
    t.notOk((await Promise.all(others)).includes(false), 'the others')
    const expected = letters.map(bodyOf)
    const text = await readAll(slow, expected)
    t.equal(sent.length, letters.length + others.length)
    for (const [i, body] of expected.entries())
      t.ok(text.includes(`\r\n\r\n${body}`), `response ${i} to the slow caller`)
  },
)

t.test('a caller that disconnects in the middle of a response damages no other response', async (t) => {
  const { port, get } = await start(t)
  for (let n = 0; n < 20; n++) {
    const gone = await request(port, ['a', 'b', 'c'])
    const response = get('d')
    gone.destroy()
    if ((await response) !== bodyOf('d')) t.fail(`response ${n}`)
  }
  t.pass()
})
