// The buffers of answers: used again after an answer was sent, and not a moment earlier.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { responseBuffersPlugin } from '../../src/plugins/response-buffers.js'
import { serializerCompiler } from '../../src/serializer/compiler.js'
import { listen } from '../support/app.js'
import { listOf, plain } from '../support/stored.js'

const schema = Type.Object({ data: Type.Array(Type.Object({ text: Type.String() })) })
const TEXT = 1000
const ROWS = 1000

/** Serves a megabyte of one letter at a path of that letter; `sent` tells the buffer of each answer. */
const start = async (t: Test) => {
  const sent: Buffer[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  app.setSerializerCompiler(serializerCompiler)
  await app.register(responseBuffersPlugin)
  app.addHook('onSend', async (_request, _reply, payload) => {
    sent.push(payload as Buffer)
    return payload
  })
  app.get<{ Params: { letter: string } }>('/:letter', { schema: { response: { 200: schema } } }, async (request) => {
    const row = plain({ text: request.params.letter.repeat(TEXT) })
    return { data: listOf([Array.from({ length: ROWS }, () => row)]) }
  })
  const port = await listen(app)
  return { port, sent, get: async (letter: string) => (await fetch(`http://127.0.0.1:${port}/${letter}`)).text() }
}

const bodyOf = (letter: string): string =>
  JSON.stringify({ data: Array.from({ length: ROWS }, () => ({ text: letter.repeat(TEXT) })) })

/** Asks for each letter at once on one connection, and reads nothing yet. */
const ask = async (port: number, letters: readonly string[]): Promise<Socket> => {
  const socket = connect({ host: '127.0.0.1', port }).pause()
  await once(socket, 'connect')
  socket.write(letters.map((letter) => `GET /${letter} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join(''))
  return socket
}

const readAll = async (socket: Socket, least: number): Promise<string> => {
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (text.length >= least) break
  }
  return text
}

t.test('a buffer serves another answer after its own was sent', async (t) => {
  const { sent, get } = await start(t)
  for (let n = 0; n < 20; n++) await get('a')
  const buffers = new Set(sent.map(({ buffer }) => buffer))
  t.ok(buffers.size < 10, `20 answers from ${buffers.size} buffers`)
})

t.test('an answer that waits for a slow caller stays as it is, however many others are sent meanwhile', async (t) => {
  const { port, sent, get } = await start(t)
  const letters = [...'abcdefghijklmnopqrst']
  const slow = await ask(port, letters)
  const others = Array.from({ length: 40 }, async (_, n) => {
    const letter = String.fromCharCode(0x41 + (n % 26))
    return (await get(letter)) === bodyOf(letter)
  })
  t.notOk((await Promise.all(others)).includes(false), 'the others')
  const expected = letters.map(bodyOf)
  const text = await readAll(slow, expected.join('').length)
  t.equal(sent.length, letters.length + others.length)
  for (const [i, body] of expected.entries()) t.ok(text.includes(`\r\n\r\n${body}`), `answer ${i} to the slow caller`)
})

t.test('a caller that goes away in the middle of an answer takes nothing with it', async (t) => {
  const { port, get } = await start(t)
  for (let n = 0; n < 20; n++) {
    const gone = await ask(port, ['a', 'b', 'c'])
    const answer = get('d')
    gone.destroy()
    if ((await answer) !== bodyOf('d')) t.fail(`answer ${n}`)
  }
  t.pass()
})
