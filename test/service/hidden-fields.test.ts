// What a key that does not see everything can reach: every operation, with every parameter, over data whose hidden values
// are marked. None of them may be in any byte.
import { createHash } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { parquetReadObjects } from 'hyparquet'
import t, { type Test } from 'tap'
import type { Hidden } from '../../schemas/kit.js'
import { keysOf } from '../../src/core/keys/keys.js'
import type { Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { operationsOf, type Parameter } from '../support/operations.js'
import { testStore } from '../support/store.js'
import { A, a } from '../support/tenants.js'
import { isThorough, leftToGate } from '../support/thorough.js'
import { unzip } from '../support/xlsx.js'

const PERSONAL = 'PERSONAL'
const PLACE = 'PLACE'
const coordinates = { longitude: 12.345678, lattitude: -6.789012 }
const doubles = Object.values(coordinates).map((value) => {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes.toString('latin1')
})
/** What marks the values that a key does not see. */
const marks: Record<Hidden, readonly string[]> = {
  personal: [PERSONAL],
  places: [PLACE, ...Object.values(coordinates).map(String), ...doubles],
}

const who = {
  firstName: `${PERSONAL}-first`,
  lastName: `${PERSONAL}-last`,
  email: `${PERSONAL}@example.org`,
  phone: `+${PERSONAL}`,
}
const { phone, ...user } = who
const place = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `${PLACE}-${name}`]))

const fill = async (store: Store): Promise<void> => {
  const { createdAt, updatedAt } = a.user
  await store.insert('organisations', [{ _id: A, name: 'Organisation A', createdAt, updatedAt }])
  await store.insert('users', [{ ...a.user, ...user }])
  const lives = [place(['country', 'zone', 'state', 'city'])]
  await store.insert(
    'agents',
    [1, 2].map((number) => ({ ...a.agent(number), ...who, location: lives })),
  )
  await store.insert('forms', [a.form])
  await store.insert('projects', [a.project(1)])
  await store.insert('dispatches', [a.dispatch(1), a.dispatch(2)])
  const location = { ...place(['address', 'country', 'state', 'lga', 'city']), coordinates }
  await store.insert(
    'entries',
    [1, 2].map((number) => ({ ...a.entry(number), location })),
  )
}

/** An application with these data, the requests of keys that were issued without something, and what is read for them. */
const prepare = async (t: Test) => {
  const read: string[] = []
  const whole = testStore(t)
  const store: Store = {
    ...whole,
    async aggregate(...query) {
      const list = await whole.aggregate(...query)
      read.push(...list.documents.map(({ bytes }) => bytes.toString('latin1')))
      return list
    },
  }
  const { app } = await testApp(t, { store, fill, settings: { SYNC_SETTLE_MS: '0' } })
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const caller = async (without?: Hidden[]) => {
    const key = await keys.issue({ organisation: A, name: 'Test', ...(without && { without }) })
    return (url: string, headers = {}) => app.inject({ url, headers: { authorization: `Bearer ${key}`, ...headers } })
  }
  return { app, store, caller, read }
}

/** All that a caller can read: the bytes, the headers and what is packed in a file. */
const textOf = async ({ headers, rawPayload }: LightMyRequestResponse): Promise<string> => {
  const raw = `${JSON.stringify(headers)}\n${rawPayload.toString('latin1')}`
  if (String(headers['content-type']).endsWith('.sheet')) return raw + [...unzip(rawPayload).values()].join('\n')
  if (!String(headers['content-type']).includes('parquet')) return raw
  const rows = await parquetReadObjects({ file: new Uint8Array(rawPayload).buffer })
  return raw + JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** The ids of records in paths. */
const ids: Record<string, string> = {
  agents: a.agent(1)._id,
  dispatches: a.dispatch(1)._id,
  entries: a.entry(1)._id,
  forms: a.form._id,
  projects: a.project(1)._id,
  users: a.user._id,
  items: a.entry(1)._id,
}

const formats = ['xlsx', 'csv', 'parquet', 'geojson', 'ndjson']

/** The paths of an operation. */
const pathsOf = (template: string): string[] => {
  const path = template.replace(/([a-z]+)\/\{id\}/, (_, name: string) => `${name}/${ids[name]}`)
  if (path.includes('/summaries/')) return [`${path}?by=status`]
  if (!path.includes('{format}')) return [path]
  return formats
    .filter((format) => format !== 'geojson' || path.includes('/entries.'))
    .map((format) => path.replace('{format}', format))
}

const time = '2025-01-01T00:00:00Z'
const QUESTION = createHash('sha256').update('Source?').digest('hex').slice(0, 12)
/** Values of the parameters that take no words of a list. */
const values: Record<string, readonly string[]> = {
  ...{ dispatch: [a.dispatch(1)._id], form: [a.form._id], project: [a.project(1)._id], agent: [a.agent(1)._id] },
  ...{ name: ['Dispatch 1'], status: ['active', 'accepted'], ids: [Object.values(ids).join()] },
  ...{ idFrom: ['!'], idTo: ['~'], from: ['!'], to: ['~'], bounds: ['a,b'], datetime: [`${time}/..`] },
  ...{ updatedSince: [time], createdSince: [time], updatedBefore: ['9999-01-01T00:00:00Z'] },
  ...{ createdBefore: ['9999-01-01T00:00:00Z'], changedSince: ['1970-01-01T00:00:00Z'] },
  ...{ page: ['1'], perPage: ['1'], limit: ['1'], wait: ['0'], cursor: ['*'], bbox: ['-180,-90,180,90'] },
  ...{ country: ['Nigeria'], state: ['Kano'], lga: ['Tarauni'], city: ['Kano'], top: ['1'], zone: ['UTC'] },
  minEntries: ['5'],
  answered: [QUESTION, `${QUESTION}=Borehole`],
  ...{ missing: ['-99'], unique: [QUESTION], questions: [QUESTION] },
  measure: ['duration'],
  organisation: [A],
  by: ['status', 'agent', 'createdAt:day', 'location.state', 'status,location:1'],
}
const valuesOf = ({ name, schema }: Parameter): readonly string[] => {
  const words = schema.enum ?? schema.items?.enum
  if (words === undefined) return values[name] ?? []
  return schema.items === undefined ? words : [...words, words.join()]
}

/** What a parameter of an operation must stand beside. */
const besides = (path: string, name: string): string =>
  (path.includes('/summaries/') && name !== 'by' ? `by=${name === 'none' ? 'agent' : 'status'}&` : '') +
  (!path.includes('/forms/') && ['answered', 'missing', 'unique', 'questions'].includes(name)
    ? `form=${a.form._id}&`
    : '')

/** The parameters that say which fields there are, or that are refused for some keys. */
const FIELDS = ['fields', 'bbox', 'names', 'expand']

/** The words of `fields` that a key does not see, by what it was issued without. */
const hiddenFields: Record<Hidden, readonly string[]> = {
  personal: ['firstName', 'lastName', 'email', 'phone'],
  places: ['location'],
}

t.test('no value that a key does not see is in any byte, whatever it asks for', { skip: leftToGate }, async (t) => {
  const { app, caller, read } = await prepare(t)
  const operations = await operationsOf(app)
  const full = await caller()
  const namesOf = new Map(operations.map(([path, parameters]) => [path, parameters.map(({ name }) => name)]))
  const found = new Set<string>()
  const all = [...marks.personal, ...marks.places]
  for (const path of operations.flatMap(([template]) => pathsOf(template))) {
    if (!isThorough && found.size === all.length) break
    const text = await textOf(await full(path))
    for (const mark of all) if (text.includes(mark)) found.add(mark)
  }
  t.same([...found].sort(), all.sort(), 'a full key sees all of them')

  for (const without of [['personal'], ['places'], ['personal', 'places']] as Hidden[][]) {
    const ask = await caller(without)
    const hidden = without.flatMap((kind) => marks[kind])
    const isRefused = (name: string, value: string) =>
      (without.includes('places') &&
        (['bbox', 'country', 'state', 'lga', 'city'].includes(name) ||
          (name === 'by' && value.includes('location')) ||
          (name === 'checks' && value.includes('place')))) ||
      (name === 'fields' &&
        without.some((kind) => hiddenFields[kind].some((field) => value.split(',').includes(field))))
    /** Asks, and looks for hidden values in the response. */
    const look = async (url: string, isAllowed = true): Promise<LightMyRequestResponse> => {
      const before = read.length
      const response = await ask(url)
      const texts = [await textOf(response), ...read.slice(before)]
      for (const mark of hidden) if (texts.some((text) => text.includes(mark))) t.fail(`${without}: ${url} has ${mark}`)
      const { statusCode } = response
      if (statusCode !== (isAllowed ? 200 : 400)) t.fail(`${without}: ${url} is ${statusCode}: ${response.body}`)
      return response
    }
    for (const [template, parameters] of operations) {
      const [path = '', ...others] = pathsOf(template)
      // A key that sees one kind has each format of one of the exports, which are written alike.
      const isInAll = isThorough || without.length > 1 || path.includes('/entries.')
      for (const other of isInAll ? others : []) await look(other)
      const response = await look(path)
      const { _metadata } = String(response.headers['content-type']).startsWith('application/json')
        ? response.json()
        : {}
      const next = _metadata?.pageLinks?.next
      if (next !== undefined) await look(next.replace(/^https?:\/\/[^/]+/, ''))
      const shown = (others.find((each) => each.endsWith('.csv')) ?? path).replace(/\?.*/, '')
      // With every parameter for the keys that see the least. What the others may not ask for is tested here, too.
      const isWalked = ({ name }: Parameter) => without.length > 1 || FIELDS.includes(name)
      // A filter of an export, or of a file of counts, is that of a list or of the counts.
      const twin = template
        .replace(/^\/v1\/exports\/answers/, '/v1/entries')
        .replace(/\/exports|\.(\{format\}|csv)$/g, '')
      const isTried = ({ name }: Parameter) =>
        isThorough || twin === template || FIELDS.includes(name) || !namesOf.get(twin)?.includes(name)
      for (const parameter of parameters.filter((each) => each.in === 'query' && isWalked(each) && isTried(each))) {
        const { name } = parameter
        // One field that the key sees shows no more than all of them do.
        const tried = valuesOf(parameter).filter(
          (value, n, all) =>
            isThorough ||
            isRefused(name, value) ||
            (name === 'fields' ? value.includes(',') || value === 'id' : n === 0 || n === all.length - 1),
        )
        // The link of the list has it.
        if (tried.length === 0 && name !== 'after') t.fail(`${template}: this test has no value of ${name}`)
        for (const value of tried) {
          const query = `${besides(path, name)}${name}=${encodeURIComponent(value)}`
          await look(`${shown}?${query}`, !isRefused(name, value))
        }
      }
    }
    for (const more of [
      'expand=agent&fields=agent',
      'expand=agent&answers=list&cursor=*',
      'embed=false&sortBy=updatedAt',
    ])
      await look(`/v1/entries?${more}`)
    for (const more of ['names=true', `names=true&form=${a.form._id}`, 'names=true&fields=agent', 'expand=agent,form'])
      await look(`/v1/exports/entries.csv?${more}`)
    await look('/v1/exports/entries.geojson?fields=id')
  }
})

t.test('a value that does not fit is no error for a key that does not see it, and an error shows none', async (t) => {
  const { store, caller } = await prepare(t)
  await store.insert('agents', [{ ...a.agent(3), firstName: [PERSONAL], lastName: 1, location: PLACE } as never])
  await store.insert('entries', [{ ...a.entry(3), agent: a.agent(3)._id, location: { city: [PLACE] } } as never])
  const urls = [
    ...['/v1/agents', '/v1/agents/agent3-a', '/v1/sync/agents', '/v1/exports/agents.ndjson'],
    ...['/v1/entries?expand=agent', '/v1/entries/entry3-a', '/v1/sync/entries', '/v1/ogc/collections/entries/items'],
  ]
  const all = await caller(['places', 'personal'])
  for (const url of urls)
    t.match(await all(url), { statusCode: 200, body: /^((?!unreadable|PLACE|PERSONAL).)*$/s }, url)
  const some = await caller(['personal'])
  t.match(await some('/v1/agents/agent3-a'), { statusCode: 500, body: /location is BSON string/ })
  t.notMatch((await some('/v1/agents?unreadable=skip')).body, /PERSONAL|firstName|lastName/)
})

t.test('no entity tag of a key is that of a key that sees more', { skip: leftToGate }, async (t) => {
  const { caller } = await prepare(t)
  const keys = [
    await caller(),
    await caller(['personal']),
    await caller(['places']),
    await caller(['places', 'personal']),
  ]
  for (const [name, id] of Object.entries(ids)) {
    if (name === 'items') continue
    for (const url of [`/v1/${name}`, `/v1/${name}/${id}`, `/v1/${name}?fields=id`]) {
      const tags = await Promise.all(keys.map(async (ask) => (await ask(url)).headers.etag as string))
      t.equal(new Set(tags).size, keys.length, url)
      for (const [n, ask] of keys.entries()) {
        const statusFor = async (tags: string[]) => (await ask(url, { 'if-none-match': tags.join() })).statusCode
        t.equal(await statusFor(tags), 304, `${url}: its own tag is among all of them`)
        t.equal(await statusFor(tags.toSpliced(n, 1)), 200, `${url}: no other one is its own`)
      }
    }
  }
})

t.test('a copy of a key does not go on with one that sees otherwise', async (t) => {
  const { caller } = await prepare(t)
  const keys = [await caller(), await caller(['personal']), await caller(['places', 'personal'])]
  const cursors = await Promise.all(keys.map(async (ask) => (await ask('/v1/sync/users')).json()._metadata.nextCursor))
  for (const [i, ask] of keys.entries()) {
    for (const [j, cursor] of cursors.entries()) {
      const { statusCode, body } = await ask(`/v1/sync/users?cursor=${cursor}`)
      t.equal(statusCode, i === j ? 200 : 400, body)
      if (i !== j) t.match(body, '"invalid_cursor"')
    }
  }
  const sameView = await (await caller(['personal', 'places']))(`/v1/sync/users?cursor=${cursors[2]}`)
  t.equal(sameView.statusCode, 200)
})

t.test('an entity tag does not change with a hidden value alone, so it confirms no guess', async (t) => {
  const { store, caller } = await prepare(t)
  const ask = await caller(['personal', 'places'])
  const urls = Object.entries(ids).flatMap(([name, id]) =>
    name === 'items' ? [] : [`/v1/${name}`, `/v1/${name}/${id}`],
  )
  urls.push('/v1/entries?expand=agent')
  const tags = async () => {
    const found: Record<string, unknown> = {}
    for (const url of urls) found[url] = (await ask(url)).headers.etag
    return found
  }
  const before = await tags()
  await store.update('users', a.user._id, { email: 'other', firstName: 'other' })
  await store.update('agents', a.agent(1)._id, { phone: 'other', location: [] })
  await store.update('entries', a.entry(1)._id, { location: { city: 'other' } })
  t.same(await tags(), before)
})
