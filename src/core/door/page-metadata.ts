// Where a page stands in its list, with links to its neighbours that repeat every parameter of the request.
import { type Listing, MAX_PAGE } from '../../../schemas/common.js'
import type { PageMetadata } from '../../../schemas/envelope.js'
import type { PageTokens } from '../read/token.js'
import type { Neighbour, Page } from '../read/walk.js'
import type { Asked } from './answer.js'

type Paging = Pick<Listing, 'page' | 'perPage' | 'cursor' | 'after'>

/** @param tokens make the positions of its neighbours. Without them they have numbers alone */
export const pageMetadata = (
  asked: Pick<Asked, 'url' | 'base'>,
  { page, perPage, cursor, after }: Paging,
  { rows, next, previous }: Pick<Page, 'next' | 'previous'> & { readonly rows: readonly unknown[] },
  total: number | undefined,
  tokens?: Pick<PageTokens, 'encode'>,
): PageMetadata => {
  const link = linker(asked)
  const nextCursor = next?.start && tokens?.encode('cursor', next.start)
  const pageCount = total === undefined || cursor !== undefined ? undefined : Math.ceil(total / perPage)
  const beside = (number: number, { start }: Neighbour) =>
    cursor === undefined
      ? link({ page: number, perPage, after: start && tokens?.encode('after', start) })
      : link({ perPage, cursor: nextCursor })
  // Beyond the end of a list whose total is known, the previous page is the last one that exists.
  const lastBefore = rows.length === 0 && after === undefined ? Math.min(page - 1, pageCount ?? page) : page - 1
  return {
    ...(total !== undefined && { total }),
    perPage,
    ...(pageCount !== undefined && { pageCount }),
    hasMore: next !== undefined,
    // A page with a number has it too, for programs that begin without a cursor and then go on by this one.
    ...(nextCursor !== undefined && { nextCursor }),
    pageLinks: {
      current: link(cursor === undefined ? { page, perPage, after } : { perPage, cursor }),
      ...(next && { next: beside(Math.min(page + 1, MAX_PAGE), next) }),
      ...(previous && { previous: beside(Math.max(1, lastBefore), previous) }),
    },
  }
}

/** A longer `Link` header is left out: proxies and clients limit the headers of a response, often to 4 KiB. */
const MAX_LINK_BYTES = 2000

/** The links to the neighbours of a page as a `Link` header (RFC 8288), if there are any and they are short enough. */
export const linkHeader = ({ pageLinks: { next, previous } }: PageMetadata): string | undefined => {
  const links = [next && `<${next}>; rel="next"`, previous && `<${previous}>; rel="prev"`]
  const header = links.filter(Boolean).join(', ')
  return header === '' || header.length > MAX_LINK_BYTES ? undefined : header
}

/** Makes links that repeat the parameters of the request. Only the parameters that place the page differ. */
export const linker = ({ url, base }: Pick<Asked, 'url' | 'base'>) => {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const address = `${base()}${pathname}`
  const parametersOf = (values: Iterable<[string, string | number | undefined]>) =>
    Array.from(values, ([name, value]) => value !== undefined && `${name}=${encodeURIComponent(value)}`).filter(Boolean)
  const repeated = parametersOf(
    [...searchParams].filter(([name]) => !['page', 'perPage', 'cursor', 'after'].includes(name)),
  )
  return (own: Readonly<Record<string, string | number | undefined>>): string => {
    const parameters = [...repeated, ...parametersOf(Object.entries(own))]
    return parameters.length > 0 ? `${address}?${parameters.join('&')}` : address
  }
}
