// Reads every operation with openapi-fetch and the types that openapi-typescript generates.
// Usage: API_URL=… API_KEY=… node dist/read.js
import createClient from 'openapi-fetch'
import type { components, paths } from './dist/schema.js'

declare const process: { env: Record<string, string | undefined> }

const api = createClient<paths>({
  baseUrl: `${process.env.API_URL}`,
  headers: { authorization: `Bearer ${process.env.API_KEY}` },
  // openapi-fetch does not read from the description that several values stand in one parameter.
  querySerializer: { array: { style: 'form', explode: false } },
})

/** The body of a successful response. */
const read = async <T>(call: Promise<{ data?: T; error?: components['schemas']['Problem'] }>): Promise<T> => {
  const { data, error } = await call
  if (data === undefined) throw new Error(error?.detail ?? 'There is no body')
  return data
}

const check = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(what)
}

/** The parameters of a record by its id: that of the first record of a list. */
const byId = ({ data: [first] }: { data: { id: string }[] }) => ({ params: { path: { id: `${first?.id}` } } })

check((await read(api.GET('/health/live'))).data.status === 'live', 'the service is live')
check((await read(api.GET('/health/ready'))).data.status === 'ready', 'the service is ready')

check((await read(api.GET('/v1/me'))).data.limits.perPage === 1000, 'the limits of the key are known')

const query = { perPage: 10, sortOrder: 'asc' } as const
const dispatches = await read(api.GET('/v1/dispatches', { params: { query } }))
const dispatch = await read(api.GET('/v1/dispatches/{id}', byId(dispatches)))
check(dispatch.data.status === 'paused' && dispatch.data.dispatchType === 'voice', 'words that are not known are read')
const projects = await read(api.GET('/v1/projects', { params: { query } }))
await read(api.GET('/v1/projects/{id}', byId(projects)))
const forms = await read(api.GET('/v1/forms', { params: { query: { ...query, fields: ['id', 'name'] } } }))
await read(api.GET('/v1/forms/{id}', byId(forms)))
const questions = await read(api.GET('/v1/forms/{id}/questions', byId(forms)))
const [question] = questions.data
check(question !== undefined && question.answered > 0, 'a form has its questions')
const [by, answered] = [['status'], [`${question?.key}`]]
const counted = {
  params: { query: { by, form: `${forms.data[0]?.id}`, answered } },
  // This parameter is repeated, because an answer may have a comma.
  querySerializer: { array: { style: 'form', explode: true } as const },
}
const counts = await read(api.GET('/v1/summaries/entries', counted))
check(counts._metadata.total === question?.answered, 'the entries with an answer are counted')
const table = await read(api.GET('/v1/summaries/entries.csv', { ...counted, parseAs: 'text' }))
check(`${table}`.startsWith('"status","count"'), 'counts are a table')
const checks: components['schemas']['CheckName'][] = ['short', 'place']
const checked = { params: { query: { checks } } }
const [flagged] = (await read(api.GET('/v1/checks/entries', checked))).data
check(typeof flagged?.flags[0]?.value === 'number', 'a flagged entry is read')
check((await read(api.GET('/v1/checks/agents', checked))).data[0]?.flagged.low !== null, 'an agent has its share')
for (const path of ['/v1/checks/entries.csv', '/v1/checks/agents.csv'] as const)
  check(`${await read(api.GET(path, { ...checked, parseAs: 'text' }))}`.includes(',"place'), 'checks are a table')
const agents = await read(api.GET('/v1/agents', { params: { query } }))
await read(api.GET('/v1/agents/{id}', byId(agents)))
const users = await read(api.GET('/v1/users', { params: { query } }))
await read(api.GET('/v1/users/{id}', byId(users)))
const inBox = await read(api.GET('/v1/entries', { params: { query: { bbox: [2, 4, 15, 14] } } }))
check(inBox.data.length > 0, 'a box is numbers')

// A whole list, page after page.
const entries: components['schemas']['EntryListItem'][] = []
for (let cursor: string | undefined = '*'; cursor !== undefined; ) {
  const params: { query: { cursor: string; perPage: number } } = { query: { cursor, perPage: 500 } }
  const page = await read(api.GET('/v1/entries', { params }))
  entries.push(...page.data)
  cursor = page._metadata.nextCursor
}
check(new Set(entries.map(({ id }) => id)).size > 1000, 'a walk reads every entry')
check(entries[0]?.answers[0]?.type === 'voiceNote', 'an answer of an unknown type is read')
await read(api.GET('/v1/entries/{id}', byId({ data: entries })))

const { response } = await api.GET('/v1/users', { params: { query } })
const known = { 'If-None-Match': `${response.headers.get('etag')}` }
const again = await api.GET('/v1/users', { params: { query, header: known } })
check(again.response.status === 304, 'a response that is the same is not sent again')

const changes = await read(api.GET('/v1/sync/entries', { params: { query: { perPage: 1000 } } }))
const rest = await read(
  api.GET('/v1/sync/entries', { params: { query: { cursor: changes._metadata.nextCursor, perPage: 1000 } } }),
)
const deleted = [...changes.data, ...rest.data].filter((change) => 'deleted' in change)
check(deleted.length === 1, 'a deletion is read')
await read(api.GET('/v1/sync/dispatches'))
await read(api.GET('/v1/sync/projects'))
await read(api.GET('/v1/sync/forms'))
await read(api.GET('/v1/sync/agents'))
await read(api.GET('/v1/sync/users'))
await read(api.GET('/v1/sync/dispatches/digest'))
await read(api.GET('/v1/sync/projects/digest'))
await read(api.GET('/v1/sync/forms/digest'))
await read(api.GET('/v1/sync/agents/digest'))
await read(api.GET('/v1/sync/users/digest'))
const digest = await read(api.GET('/v1/sync/entries/digest'))
check(digest.data[0]?.count === entries.length, 'the digest counts the entries')

const { error } = await api.GET('/v1/entries/{id}', { params: { path: { id: 'none' } } })
check(error?.code === 'not_found', 'an error has its code')
