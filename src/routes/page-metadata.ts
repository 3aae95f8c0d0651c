// Where a page stands in its list, with links to its neighbours that repeat every parameter of the request.
import type { FastifyRequest } from 'fastify'
import type { PageMetadata } from '../../schemas/envelope.js'
import { problem } from '../http/problems.js'
import type { Listing } from '../pipelines/stages.js'
import { HOST } from '../plugins/request-checks.js'

type Place = Pick<Listing, 'page' | 'perPage'>

/**
 * The total of a list. The count may be older than the page, and where they disagree the page is right:
 * - An empty page shows that the list ends before it.
 * - A page that is not full is the last one, so the list ends with it.
 * - A full page shows that the list reaches at least to its end.
 * @param shown how many records the page has
 * @param counted how many records match, as of some time ago
 */
export const totalOf = ({ page, perPage }: Place, shown: number, counted: number): number => {
  const before = (page - 1) * perPage
  if (shown === 0) return Math.min(counted, before)
  if (shown < perPage) return before + shown
  return Math.max(counted, before + shown)
}

/**
 * The record behind the page, as a page of its own, if a read must tell whether it exists. That is so if the total ends with
 * a full page: the record may have been stored after the count, and without the read no link would lead to it.
 */
export const unknownNext = ({ page, perPage }: Place, total: number): Place | undefined =>
  total === page * perPage ? { page: total + 1, perPage: 1 } : undefined

/**
 * Where the page stands, and the links to its neighbours.
 * @param publicUrl the base of the links; if undefined, the host and protocol of the request
 * @param total how many records match
 */
export const pageMetadata = (
  request: FastifyRequest,
  publicUrl: string | undefined,
  { page, perPage }: Place,
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
      // For a page beyond the end, the previous page is the last one that exists.
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

/** Protocol and host as the caller addressed them. A request without a Host header gets the address of its socket. */
const origin = ({ protocol, host, socket: { localAddress, localPort } }: FastifyRequest): string => {
  const address = host || `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  if (!HOST.test(address) || !URL.canParse(`http://${address}`) || !/^https?$/.test(protocol)) {
    throw problem('bad_request', 'The host or protocol of the request is not valid')
  }
  return `${protocol}://${address}`
}
