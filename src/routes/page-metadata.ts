// Where a page stands in its list, with links to its neighbours that repeat every parameter of the request.
import type { FastifyRequest } from 'fastify'
import type { PageMetadata } from '../../schemas/envelope.js'
import type { BsonList } from '../bson/reader.js'
import { problem } from '../http/problems.js'
import type { Listing } from '../pipelines/stages.js'
import { HOST } from '../plugins/request-checks.js'

/**
 * The total, which may be older than the page: what the page shows goes before it, so that whoever follows `next` misses
 * nothing, and a page that is not full is the last one.
 * @param isThere whether there is a record of a number, counted from 1
 */
export const totalFrom = async (
  data: BsonList,
  counted: number,
  { page, perPage }: Pick<Listing, 'page' | 'perPage'>,
  isThere: (number: number) => Promise<boolean>,
): Promise<number> => {
  const rows = data.length
  const shown = (page - 1) * perPage + rows
  if (rows === 0) return Math.min(counted, shown)
  if (rows < perPage) return shown
  if (shown < counted) return counted
  return (await isThere(shown + 1)) ? shown + 1 : shown
}

/**
 * @param publicUrl the base of the links; else the host and protocol of the request
 * @param total how many records match
 */
export const pageMetadata = (
  request: FastifyRequest,
  publicUrl: string | undefined,
  { page, perPage }: Pick<Listing, 'page' | 'perPage'>,
  total: number,
): PageMetadata => {
  const pageCount = Math.ceil(total / perPage)
  const link = pageLink(request, publicUrl ?? origin(request), perPage)
  return {
    total,
    perPage,
    pageCount,
    pageLinks: {
      current: link(page),
      ...(page < pageCount && { next: link(page + 1) }),
      // From beyond the end the way back leads to the last page.
      ...(page > 1 && { previous: link(Math.max(1, Math.min(page - 1, pageCount))) }),
    },
  }
}

const pageLink = ({ url }: FastifyRequest, base: string, perPage: number) => {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const filters = [...searchParams].filter(([name]) => name !== 'page' && name !== 'perPage')
  const parameters = filters.map(([name, value]) => `${name}=${encodeURIComponent(value)}&`).join('')
  return (page: number) => `${base}${pathname}?${parameters}page=${page}&perPage=${perPage}`
}

/** Protocol and host as the caller addressed them; a request without a host gets the socket's address. */
const origin = ({ protocol, host, socket: { localAddress, localPort } }: FastifyRequest): string => {
  const named = host || `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  if (!HOST.test(named) || !URL.canParse(`http://${named}`) || !/^https?$/.test(protocol)) {
    throw problem('bad_request', 'The host or protocol that the request was sent to is none')
  }
  return `${protocol}://${named}`
}
