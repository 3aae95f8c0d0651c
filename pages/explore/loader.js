// Loads the entries by one stream, the newest first, and the names of what they refer to.
import { Refused, records, request } from './api.js'
import { LIMIT } from './entries.js'

/** @typedef {import('./entries.js').Entries} Entries */

const FIELDS = 'status,form,project,dispatch,agent,createdAt,duration'
/** The lists whose records have names, with what entries call them and the fields that make the name. */
const NAMED = /** @type {const} */ ([
  ['forms', 'form', 'name'],
  ['projects', 'project', 'name'],
  ['dispatches', 'dispatch', 'name,totalExpectedEntries'],
  ['agents', 'agent', 'firstName,lastName'],
])

/** How many entries the organisation has. */
export const totalOfEntries = async () => {
  const response = await request('entries', new URLSearchParams({ perPage: '1', fields: 'id', unreadable: 'skip' }))
  return /** @type {number} */ ((await response.json())._metadata.total)
}

/** The name of the organisation whose key it is, what the key does not see, and what it is restricted to. @throws {Refused} if it is none */
export const readKey = async () => {
  const { data } = await (await request('me')).json()
  return {
    name: /** @type {string} */ (data.organisation.name),
    without: /** @type {string[]} */ (data.key.without ?? []),
    only: Object.keys(data.key.only ?? {}),
  }
}

/** The names of what entries name, for a key that has no list of it. @param {Entries} entries @param {import('./entries.js').Dimension} dimension */
const countNames = async (entries, dimension) => {
  const parameters = new URLSearchParams({ by: dimension, names: 'true', top: '1000' })
  const { data } = await (await request('summaries/entries', parameters)).json()
  for (const { [dimension]: id, [`${dimension}Name`]: name } of data) if (name) entries.names[dimension].set(id, name)
}

/** Names are a convenience: without them there are ids. @param {Entries} entries @param {readonly string[]} without what the key does not see @param {() => void} onMore */
export const loadNames = (entries, without, onMore) =>
  Promise.allSettled(
    NAMED.map(async ([list, dimension, named]) => {
      const fields = list === 'agents' && without.includes('personal') ? 'id' : named
      const parameters = new URLSearchParams({ fields, sortOrder: 'desc', limit: String(LIMIT), unreadable: 'skip' })
      const ids = new Set()
      try {
        for await (const some of records(list, parameters)) {
          for (const { id, name, firstName = '', lastName = '', totalExpectedEntries } of some) {
            if (id === undefined) continue
            ids.add(id)
            const label = name ?? `${firstName} ${lastName}`.trim()
            if (label) entries.names[dimension].set(id, label)
            if (totalExpectedEntries > 0) entries.expected.set(id, totalExpectedEntries)
          }
        }
        entries.listed[dimension] = ids
      } catch (error) {
        if (!(error instanceof Refused && error.status === 403)) throw error
        await countNames(entries, dimension)
      } finally {
        entries.unnamed.delete(dimension)
        onMore()
      }
    }),
  )

/** Loads what is missing. A stream that broke is gone on with: ids in their order go down, and `idTo` excludes its own. @param {Entries} entries @param {readonly string[]} without what the key does not see @param {() => void} onMore @throws {Error} with words for people */
export const loadEntries = async (entries, without, onMore) => {
  const fields = without.includes('places') ? FIELDS : `${FIELDS},location`
  const parameters = new URLSearchParams({ fields, sortOrder: 'desc', unreadable: 'skip' })
  const last = entries.ids.at(-1)
  if (last !== undefined) parameters.set('idTo', last)
  parameters.set('limit', String(LIMIT - entries.size))
  try {
    for await (const some of records('entries', parameters)) {
      for (const record of some) entries.add(record)
      onMore()
    }
  } catch (error) {
    throw error instanceof Refused ? error : new Error('The connection broke.', { cause: error })
  }
}
