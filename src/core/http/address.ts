// The address under which a caller reaches the service.
import type { FastifyRequest } from 'fastify'
import { problem } from '../problems/problems.js'

/** A host name or an IP address, with or without a port. */
export const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/** What links to the service begin with: the public URL, or protocol and host of the request. */
export const baseOf = (request: FastifyRequest, publicUrl: string | undefined): string => publicUrl ?? origin(request)

/** Protocol and host as the caller addressed them. A request without a Host header gets the address of its socket. */
const origin = ({ protocol, host, socket: { localAddress, localPort } }: FastifyRequest): string => {
  const address = host || `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  if (!HOST.test(address) || !URL.canParse(`http://${address}`) || !/^https?$/.test(protocol)) {
    throw problem('bad_request', 'The host or protocol of the request is not valid')
  }
  return `${protocol}://${address}`
}
