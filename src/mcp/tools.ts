// What an assistant may ask: each tool asks operations of the service, with the key of its caller.
import { type TSchema, Type } from '@sinclair/typebox'
import { EntryListQuery } from '../../schemas/entries.js'
import { SummaryQuery } from '../../schemas/summaries.js'
import type { InputError } from '../validation/text.js'

/** The response of an operation. */
export interface Body {
  readonly data: never
  readonly _metadata: Readonly<Record<string, never>>
}
type Arguments = Readonly<Record<string, unknown>>

/** Asks an operation. @throws ToolError if its response is a problem */
export type Ask = (path: string, query?: Arguments) => Promise<Body>

/** What an assistant reads of a problem, to mend its call. */
export class ToolError extends Error {
  constructor(
    detail: string,
    readonly errors: readonly Pick<InputError, 'name' | 'message'>[] = [],
  ) {
    super(detail)
  }
}

export interface Tool {
  readonly description: string
  readonly arguments: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly result: TSchema
  readonly call: (ask: Ask, given: Arguments, base: string) => Promise<Record<string, unknown>>
}

/** The most entries of a table, of which an assistant reads each word. */
const MOST_ENTRIES = 100

/** A parameter of an operation as an argument: texts and numbers, with the first sentence of its description. */
const argument = ({ type, enum: words, description }: TSchema): TSchema =>
  Type.Unsafe({
    ...(type === 'array' ? { type, items: { type: 'string' } } : { type: type === 'integer' ? type : 'string' }),
    ...(words && { enum: words }),
    description: String(description).split(/(?<=\.) /)[0],
  })
const argumentsOf = (schema: { readonly properties: Record<string, TSchema> }, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, argument(schema.properties[name] as TSchema)]))

const list = EntryListQuery({ page: 1, perPage: 1, maxPerPage: MOST_ENTRIES })
const FILTERS = [
  ...['dispatch', 'form', 'project', 'agent', 'status', 'country', 'state', 'lga', 'city', 'bbox', 'answered'],
  ...['createdSince', 'createdBefore', 'updatedSince', 'updatedBefore'],
]
const filters = argumentsOf(list, FILTERS)
const anything = (description: string) => Type.Unsafe({ type: 'object', description })
const rows = Type.Unsafe({ type: 'array', items: { type: 'object' } })

/** The filters with the id of the form, which may be given by its name. */
const withForm = async (ask: Ask, given: Arguments): Promise<Arguments> => {
  const { form } = given
  if (typeof form !== 'string') return given
  const found = async (query: Arguments) =>
    (await ask('forms', { ...query, fields: ['name'], total: 'false' })).data as { id: string; name?: string }[]
  const [byId] = await found({ ids: [form] })
  if (byId !== undefined) return given
  const byName = await found({ name: form })
  if (byName.length === 1) return { ...given, form: byName[0]?.id }
  const all = byName.length > 1 ? byName : await found({ perPage: MOST_ENTRIES })
  const known = all.map(({ id, name }) => `${id} (${name ?? 'without a name'})`).join(', ')
  const message = `must be the id or the exact name of one form: ${known}`
  throw new ToolError(`form ${message}`, [{ name: 'form', message }])
}

const groupsOf = async (ask: Ask, by: string) =>
  (await ask('summaries/entries', { by, names: 'true', top: MOST_ENTRIES })).data as Record<string, unknown>[]

export const tools: Readonly<Record<string, Tool>> = {
  describe: {
    description:
      'What there is: the organisation, what the key does not see, the forms and projects with their numbers of entries, and the time from the first to the last entry. Begin with it.',
    arguments: {},
    result: Type.Object({ organisation: anything('Its id and name.'), total: Type.Integer(), forms: rows }),
    async call(ask) {
      const { organisation, without } = (await ask('me')).data as Record<string, unknown>
      const [forms, projects, status] = [
        await groupsOf(ask, 'form'),
        await groupsOf(ask, 'project'),
        await ask('summaries/entries', { by: 'status' }),
      ]
      const ends = ['asc', 'desc'].map(async (sortOrder) => {
        const query = { sortBy: 'createdAt', sortOrder, perPage: 1, fields: ['createdAt'], total: 'false' }
        return ((await ask('entries', query)).data as { createdAt?: string }[])[0]?.createdAt
      })
      const [first, last] = await Promise.all(ends)
      const { total, asOf } = status._metadata
      return { organisation, without, total, asOf, first, last, status: status.data, forms, projects }
    },
  },
  describe_form: {
    description:
      'The questions that were answered in a form, each with its key, and with its answers and their counts.',
    arguments: { form: filters.form as TSchema },
    required: ['form'],
    result: Type.Object({ entries: Type.Integer(), questions: rows }),
    async call(ask, given) {
      const { form } = await withForm(ask, given)
      const { data, _metadata } = await ask(`forms/${encodeURIComponent(String(form))}/questions`)
      return { ..._metadata, questions: data }
    },
  },
  count_entries: {
    description: 'Counts all entries that match, in groups. Use it for every question of how many.',
    arguments: { ...argumentsOf(SummaryQuery, ['by', 'zone', 'names', 'measure', 'top']), ...filters },
    required: ['by'],
    result: Type.Object({ total: Type.Integer(), groups: Type.Integer(), rows }),
    async call(ask, given) {
      const { data, _metadata } = await ask('summaries/entries', await withForm(ask, given))
      return { ..._metadata, rows: data }
    },
  },
  find_entries: {
    description: `Up to ${MOST_ENTRIES} entries that match, newest first, with the number of all of them. Do not count them: count_entries does.`,
    arguments: {
      ...filters,
      ...argumentsOf(list, ['fields']),
      limit: Type.Integer({ description: `How many, by default 20, at most ${MOST_ENTRIES}.` }),
    },
    result: Type.Object({ total: Type.Integer(), rows }),
    async call(ask, { limit = 20, ...given }) {
      const query = { ...(await withForm(ask, given)), sortBy: 'createdAt', sortOrder: 'desc', perPage: limit }
      const { data, _metadata } = await ask('entries', query)
      return { total: _metadata.total, rows: data }
    },
  },
  get_entry: {
    description: 'One entry with all its answers, and with its form, agent, project and dispatch.',
    arguments: { id: Type.String({ description: 'Id of the entry.' }) },
    required: ['id'],
    result: Type.Object({ entry: anything('The entry.') }),
    call: async (ask, { id }) => ({ entry: (await ask(`entries/${encodeURIComponent(String(id))}`)).data }),
  },
  export_link: {
    description: 'The address of a file with all entries that match, and a command that fetches it.',
    arguments: {
      format: Type.Unsafe({ type: 'string', enum: ['csv', 'xlsx', 'geojson', 'parquet', 'ndjson'] }),
      ...filters,
    },
    required: ['format'],
    result: Type.Object({ url: Type.String(), curl: Type.String() }),
    async call(ask, { format = 'csv', ...given }, base) {
      const query = await withForm(ask, given)
      // Wrong filters are seen now, not when somebody fetches the file.
      await ask('entries', { ...query, perPage: 1, total: 'false' })
      const url = `${base}/v1/exports/entries.${format}?${parametersOf(query)}`
      return { url, curl: `curl --fail-with-body -H "Authorization: Bearer $API_KEY" -o entries.${format} '${url}'` }
    },
  },
}

/** The query of a URL. Only `answered` is repeated. */
export const parametersOf = (query: Arguments): URLSearchParams => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const all = Array.isArray(value) && name !== 'answered' ? [value.join()] : [value].flat()
    for (const each of all) parameters.append(name, String(each))
  }
  return parameters
}
