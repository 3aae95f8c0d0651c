// A stand-in for the database, a process of its own. While it records, it forwards the commands of MongoDB's protocol to
// the server and keeps each reply. While it replays, it sends the kept replies, and rejects a command that it has not seen.
import { connect, createServer, type Socket } from 'node:net'
import { BSON } from 'mongodb'
import { elements } from '../src/core/bson/reader.js'
import { handleCalls } from './ipc.js'

const OP_MSG = 2013
const OP_QUERY = 2004
const HEAD = 16
const RESPONSE_TO = 8

/** The fields that differ each time a command is sent. */
const VOLATILE = new Set(['lsid', '$clusterTime', 'txnNumber', 'maxTimeMS'])
/** Commands that are recognised by their name alone: the handshake, housekeeping, and the update of a key's last use. */
const BY_NAME = new Set(['hello', 'ismaster', 'isMaster', 'ping', 'endSessions', 'killCursors', 'update'])

const [host = '127.0.0.1', port = '27017'] = process.argv.slice(2)
const replies = new Map<string, Buffer>()
let replaying = false
let unknown = 0

/** The name of the command in a message, and a key that is equal for equal commands. */
const identify = (message: Buffer): { name: string; key: string } => {
  const opcode = message.readInt32LE(12)
  if (opcode !== OP_MSG && opcode !== OP_QUERY) throw new Error(`Unknown opcode ${opcode}, expected OP_MSG or OP_QUERY`)
  // Before the document, OP_MSG has flags and the kind of the section; OP_QUERY has flags, the name of the collection, and
  // the numbers of documents to skip and to return.
  const start = opcode === OP_MSG ? HEAD + 5 : message.indexOf(0, HEAD + 4) + 1 + 8
  let name = ''
  let key = `${opcode}`
  let from = start + 4
  for (const element of elements(message, start)) {
    name ||= element.name
    if (!VOLATILE.has(element.name)) key += message.toString('latin1', from, element.next)
    from = element.next
  }
  return { name, key: BY_NAME.has(name) ? `${opcode} ${name}` : key }
}

/** Calls `take` with each complete message that arrives on a connection. */
const eachMessage = (socket: Socket, take: (message: Buffer) => void): void => {
  let bytes: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    while (bytes.length >= 4 && bytes.length >= bytes.readInt32LE(0)) {
      const size = bytes.readInt32LE(0)
      take(bytes.subarray(0, size))
      bytes = bytes.subarray(size)
    }
  })
}

/** Sends a kept reply to a message. Its bytes after the head are never copied. */
const sendReply = (client: Socket, reply: Buffer, to: Buffer): void => {
  const head = Buffer.from(reply.subarray(0, HEAD))
  to.copy(head, RESPONSE_TO, 4, 8)
  client.cork()
  client.write(head)
  client.write(reply.subarray(HEAD))
  client.uncork()
}

const errorReply = (errmsg: string): Buffer => {
  const body = BSON.serialize({ ok: 0, code: 2, codeName: 'BadValue', errmsg })
  const head = Buffer.alloc(HEAD + 5)
  head.writeInt32LE(head.length + body.length)
  head.writeInt32LE(OP_MSG, 12)
  return Buffer.concat([head, body])
}

const server = createServer({ noDelay: true }, (client) => {
  let upstream: Socket | undefined
  const waiting: string[] = []
  const forward = (key: string, message: Buffer) => {
    if (upstream === undefined) {
      upstream = connect({ host, port: Number(port), noDelay: true })
      upstream.on('error', () => client.destroy())
      eachMessage(upstream, (reply) => {
        replies.set(waiting.shift() as string, Buffer.from(reply))
        client.write(reply)
      })
    }
    waiting.push(key)
    upstream.write(message)
  }

  eachMessage(client, (message) => {
    const { name, key } = identify(message)
    const reply = replies.get(key)
    if (reply !== undefined) return sendReply(client, reply, message)
    if (!replaying || BY_NAME.has(name)) return forward(key, message)
    unknown++
    sendReply(client, errorReply(`The replayer has not seen this ${name} before`), message)
  })
  client.on('error', () => client.destroy())
  client.on('close', () => upstream?.destroy())
})

const listening = new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
})
handleCalls({
  port: () => listening,
  replay: () => {
    replaying = true
    return replies.size
  },
  unknown: () => unknown,
})
