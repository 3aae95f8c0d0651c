// Callers that write raw bytes to a socket.
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'

/**
 * Sends text, and returns everything that the server sends until it closes the connection.
 * @param half whether the caller says that nothing follows the text
 */
export const send = (port: number, text: string | Buffer, { half = false } = {}): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  // What is written before it is connected is sent then.
  half ? socket.end(text) : socket.write(text)
  return receivedBy(socket)
}

/** Everything that the server sends on a connection until that is closed. */
export const receivedBy = async (socket: Socket): Promise<string> => {
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  await once(socket, 'close')
  return received
}

/** Opens a connection, sends text, and never reads the response. */
export const neverRead = async (port: number, text: string): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** Waits until a server closes its idle connections the next time. */
export const idleClosed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const { closeIdleConnections } = server
    server.closeIdleConnections = () => {
      closeIdleConnections.call(server)
      resolve()
    }
  })

/** The text of a GET request. The connection stays open unless a header says otherwise. */
export const getRequest = (path: string, headers: Record<string, string> = {}): string =>
  [
    `GET ${path} HTTP/1.1`,
    ...Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')

export const LAST = { connection: 'close' }

/** The status of each response in the text that a socket received. */
export const statusesIn = (received: string): number[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
