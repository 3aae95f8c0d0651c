// GET /v1/exports/<name>.<format>: whole lists as files that cannot end too early without an error.
import { EventEmitter, once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { listen, testApp, testConfig } from '../support/app.js'
import { eachResource } from '../support/resources.js'
import { send } from '../support/sockets.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'
import { sheetRows, unzip } from '../support/xlsx.js'

const linesOf = (body: string): { id: string }[] =>
  body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** An application whose tests only read. */
const reading = testApp(t, { fill: fillTenants })

t.test('the lines of NDJSON are the items of the list, with the same parameters', async (t) => {
  const { get } = await reading
  for (const [name] of eachResource) {
    for (const query of [
      '',
      'sortOrder=desc',
      'fields=createdAt',
      'embed=false',
      'updatedSince=2000-01-01T00:00:00Z',
    ]) {
      const { data } = (await get(`/v1/${name}?${query}`, A)).json()
      const file = await get(`/v1/exports/${name}.ndjson?${query}`, A)
      t.ok(data.length > 0, name)
      t.same([file.statusCode, linesOf(file.body)], [200, data], `${name} ${query}`)
    }
  }
  for (const query of ['expand=form,agent', 'answers=list', 'status=accepted', 'ids=entry1-a', 'idFrom=entry9-a']) {
    const { data } = (await get(`/v1/entries?${query}`, A)).json()
    t.same(linesOf((await get(`/v1/exports/entries.ndjson?${query}`, A)).body), data, query)
    t.ok(data.length > 0, query)
  }
  t.equal(linesOf((await get('/v1/exports/users.ndjson?limit=1', A)).body).length, 1)
  t.equal((await get('/v1/exports/users.ndjson?idTo=!', A)).body, '', 'an export of nothing')
})

t.test('a file has a media type and a name, and HEAD has them without the file', async (t) => {
  const { get } = await reading
  for (const [format, type] of Object.entries({
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    csv: 'text/csv; charset=utf-8',
    parquet: 'application/vnd.apache.parquet',
    geojson: 'application/geo+json',
    ndjson: 'application/x-ndjson',
  })) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, headers, body } = await get(`/v1/exports/entries.${format}`, A, { method })
      t.equal(statusCode, 200)
      t.equal(headers['content-type'], type)
      t.match(
        headers['content-disposition'],
        new RegExp(`^attachment; filename="entries-\\d{4}-\\d\\d-\\d\\d\\.${format}"$`),
      )
      t.equal(headers['content-length'], undefined)
      t.equal(body.length > 0, method === 'GET', `${method} ${format}`)
    }
  }
})

t.test('a list that a key does not see is refused before anything is sent, also for a HEAD', async (t) => {
  const { app, store } = await testApp(t, { fill: fillTenants })
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const key = await keys.issue({ organisation: A, name: 'Part', only: { project: ['p'] } })
  for (const method of ['GET', 'HEAD'] as const) {
    const headers = { authorization: `Bearer ${key}` }
    t.equal((await app.inject({ url: '/v1/exports/users.csv', method, headers })).statusCode, 403, method)
  }
})

t.test('a parameter that the format does not have is refused, and so is an unknown format', async (t) => {
  const { get } = await reading
  for (const [query, formats] of Object.entries({
    'bom=true': 'csv has',
    'formulas=keep': 'csv has',
    'labels=true': 'csv and xlsx have',
    'names=true': 'csv and xlsx have',
  })) {
    const response = await get(`/v1/exports/entries.ndjson?${query}`, A)
    t.match(response.json(), {
      status: 400,
      errors: [{ in: 'query', name: query.split('=')[0], message: `must be left out: only ${formats} it` }],
    })
    t.equal(response.headers['content-disposition'], undefined)
  }
  t.match((await get('/v1/exports/users.geojson', A)).json(), {
    status: 400,
    errors: [{ in: 'path', name: 'format', allowed: ['xlsx', 'csv', 'parquet', 'ndjson'] }],
  })
  for (const format of ['__proto__', 'constructor']) {
    t.match((await get(`/v1/exports/users.${format}`, A)).json(), { status: 400, errors: [{ name: 'format' }] }, format)
  }
  t.match((await get('/v1/exports/users.csv?page=2', A)).json(), { status: 400, code: 'invalid_parameter' })
  for (const accept of ['text/csv', 'application/json', 'text/html']) {
    const { headers } = await get('/v1/exports/users.csv', A, { headers: { accept } })
    t.match(headers['content-type'], 'text/csv', `the path chooses the format, and not Accept: ${accept}`)
  }
})

t.test('CSV has the names of other records beside their ids', async (t) => {
  const { get } = await reading
  const rowsOf = async (query: string) =>
    (await get(`/v1/exports/${query}`, A)).body
      .split('\r\n')
      .map((line) => line.split(',').map((cell) => cell.replace(/^"(.*)"$/, '$1')))
  const [header = [], row = []] = await rowsOf('entries.csv?ids=entry1-a&fields=form,agent,dispatch&names=true')
  t.same(header, ['id', 'dispatch', 'dispatch.name', 'form', 'form.name', 'agent', 'agent.firstName', 'agent.lastName'])
  const { agent } = { agent: a.agent(1) }
  t.same(row, [
    ...['entry1-a', a.dispatch(1)._id, a.dispatch(1).name, a.form._id, a.form.name],
    ...[agent._id, agent.firstName, agent.lastName],
  ])
})

t.test('with labels the header is in words, and names stand before ids', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants })
  const headerOf = async (query: string) => (await get(`/v1/exports/${query}`, A)).body.split('\r\n')[0]
  t.equal(
    await headerOf('entries.csv?fields=form,agent,createdAt&names=true&labels=true'),
    '"Id","Form name","Form","Agent first name","Agent last name","Agent","Created at"',
  )
  t.equal(await headerOf('entries.csv?fields=form,createdAt&labels=false'), '"id","form","createdAt"')
  t.equal(await headerOf('answers.csv?labels=true'), '"Entry","Position","Type","Question","Answer"')
  const answers = ['createdAt?', 'Created at'].map((question) => ({ type: 'text', question, answer: 'x' }))
  await store.insert('entries', [a.entry(21, { form: 'f', answers: answers as never })])
  const url = 'entries.csv?form=f&fields=answers,createdAt'
  t.equal(await headerOf(url), '"id","createdAt","createdAt?","Created at"')
  t.match(await headerOf(`${url}&labels=true`), /^"Id","Created at","createdAt\?","Created at \([0-9a-f]{12}\)"$/)
  const sheet = unzip((await get('/v1/exports/entries.xlsx?fields=form&names=true&labels=true', A)).rawPayload)
  t.same(sheetRows(sheet.get('xl/worksheets/sheet1.xml') as string)[0], ['Id', 'Form name', 'Form'])
})

t.test('CSV of a form has a column for each question, in the order of their mean place', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants })
  const answer = (question: string, answer?: unknown) => ({
    type: 'text',
    question,
    ...(answer !== undefined && { answer }),
  })
  await store.insert('entries', [
    a.entry(21, { form: 'f', answers: [answer('Name?', 'x'), answer('=Why, "so"?', ['a', 'b'])] as never }),
    a.entry(22, {
      form: 'f',
      answers: [answer('Name?', '=1+1'), answer('Age?', '-5'), answer('=Why, "so"?')] as never,
    }),
  ])
  const url = '/v1/exports/entries.csv?form=f&fields=answers,status'
  const { body } = await get(url, A)
  t.same(body.split('\r\n'), [
    `"id","status","Name?","Age?","'=Why, ""so""?"`,
    'entry21-a,accepted,x,,"a; b"',
    `entry22-a,accepted,'=1+1,-5,`,
    '',
  ])
  t.match(
    (await get(`${url}&formulas=keep&bom=true`, A)).body,
    /^\ufeff"id","status","Name\?","Age\?","=Why, ""so""\?"\r\n/,
  )
  t.match((await get('/v1/exports/entries.csv?form=f&fields=status', A)).body, /^"id","status"\r\n/)
  const first = `"id","status","Name?","'=Why, ""so""?"\r\nentry21-a,accepted,x,"a; b"\r\n`
  t.equal((await get(`${url}&limit=1`, A)).body, first, 'the columns are those of the records')
  await store.insert('entries', [a.entry(24, { form: 'h', answers: [{ type: 'text', answer: 'x' }] as never })])
  const { statusCode, body: problem } = await get('/v1/exports/entries.csv?form=h', A)
  t.equal(statusCode, 500)
  t.match(problem, 'answers.0.question is missing', 'an answer without a question has no column')
  const many = Array.from({ length: 2001 }, (_, i) => answer(`Question ${i}`, 'x'))
  await store.insert('entries', [a.entry(23, { form: 'g', answers: many as never })])
  t.match((await get('/v1/exports/entries.csv?form=g', A)).json(), {
    status: 400,
    errors: [{ in: 'query', name: 'form', message: /^has entries with more than 2000 questions/ }],
  })
})

t.test('Parquet has the chosen fields, with the place of an entry if it is among them', async (t) => {
  const { get } = await reading
  const columnsOf = async (query: string) => {
    const { rawPayload: bytes } = await get(`/v1/exports/entries.parquet?ids=entry1-a&${query}`, A)
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
    return Object.keys((await parquetReadObjects({ file }))[0] as object)
  }
  t.same(await columnsOf('fields=status'), ['id', 'status'])
  t.ok((await columnsOf('fields=location')).includes('geometry'))
})

t.test('a text that no cell of a sheet holds is an error of the format, and not of the record', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants })
  await store.insert('entries', [a.entry(21, { form: 'f', status: 'x'.repeat(32_768) })])
  for (const query of ['', '&unreadable=skip']) {
    t.match((await get(`/v1/exports/entries.xlsx?form=f${query}`, A)).json(), {
      ...{ status: 400, code: 'invalid_parameter' },
      errors: [{ in: 'path', name: 'format', message: /entries entry21-a: status has more than 32767 characters/ }],
    })
  }
  t.equal((await get('/v1/exports/entries.xlsx?form=f&fields=duration', A)).statusCode, 200)
})

t.test('answers are rows of their own, one for each choice', async (t) => {
  const { get } = await reading
  const rows = linesOf((await get('/v1/exports/answers.ndjson?ids=entry1-a', A)).body)
  const row = (position: number, type: string, question: string, answer: string) => ({
    entry: 'entry1-a',
    ...{ position, type, question, answer },
  })
  t.same(rows, [
    row(1, 'singleChoice', 'Source?', 'Borehole'),
    row(2, 'multiChoice', 'Uses?', 'Drinking'),
    row(2, 'multiChoice', 'Uses?', 'Washing'),
  ])
})

/** A store with more entries than a page has. */
const many = async (t: Test, count = 300, changes = {}): Promise<Store> => {
  const store = testStore(t)
  await fillTenants(store)
  const ids = Array.from({ length: count }, (_, i) => `e${String(i).padStart(6, '0')}`)
  for (let i = 0; i < count; i += 500) {
    await store.insert(
      'entries',
      ids.slice(i, i + 500).map((_id) => a.entry(1, { _id, ...changes })),
    )
  }
  return store
}

/** A store that does something else before it reads a page of entries behind the first. */
const beforeLaterPages = (store: Store, before: () => Promise<void>): Store => ({
  ...store,
  async aggregate(query, reading) {
    if (/"_id":\{"\$gt"/.test(JSON.stringify(query.match))) await before()
    return store.aggregate(query, reading)
  },
})

const started = async (t: Test, store: Store, settings = {}) => {
  const { app, keyOf } = await testApp(t, { store, settings })
  const port = await listen(app)
  const authorization = `Bearer ${await keyOf(A)}`
  /** The response to a request, with nothing of its body read. */
  const open = async (path: string, headers = {}): Promise<IncomingMessage> => {
    const [response] = await once(httpRequest({ port, path, headers: { authorization, ...headers } }).end(), 'response')
    return response
  }
  return { app, port, authorization, open }
}

t.test('the first bytes come before the second page is read, and the others when it is', async (t) => {
  const store = await many(t)
  const go = new EventEmitter()
  const { open } = await started(
    t,
    beforeLaterPages(store, async () => {
      await once(go, 'on')
    }),
  )
  for (const [encoding, decoder] of [
    ['identity', undefined],
    ['gzip', createGunzip()],
    ['br', createBrotliDecompress()],
  ] as const) {
    const response = await open('/v1/exports/entries.ndjson?fields=status', { 'accept-encoding': encoding })
    t.equal(response.headers['content-encoding'] ?? 'identity', encoding)
    const body = decoder === undefined ? response : response.pipe(decoder)
    let text = ''
    body.on('data', (chunk) => {
      text += chunk
    })
    while (text.split('\n').length <= 50) await setTimeout(5)
    t.equal(text.split('\n').length, 51, `${encoding}: the first page is there`)
    const timer = setInterval(() => go.emit('on'), 1)
    await once(body, 'end')
    clearInterval(timer)
    const ids = linesOf(text).map(({ id }) => id)
    t.ok(ids.length > 300, encoding)
    t.same(ids, [...new Set(ids)].sort(), 'each record once, in the order of ids')
  }
})

t.test(
  'an error in the middle breaks the connection, whatever the format and the compression',
  { skip: leftToGate },
  async (t) => {
    const { open, port, authorization } = await started(
      t,
      beforeLaterPages(await many(t), async () => {
        throw new Error('failed in the middle')
      }),
    )
    for (const format of ['ndjson', 'csv', 'geojson', 'parquet']) {
      for (const encoding of ['identity', 'gzip', 'br']) {
        const path = `/v1/exports/entries.${format}`
        const response = await open(path, { 'accept-encoding': encoding })
        t.equal(response.statusCode, 200, `${format} ${encoding}`)
        await t.rejects(response.toArray(), { code: 'ECONNRESET' }, `${format} ${encoding}: the caller sees an error`)
      }
    }
    // HTTP/1.0 tells the end of a response by that of the connection.
    const request = `GET /v1/exports/entries.csv HTTP/1.0\r\nauthorization: ${authorization}\r\n\r\n`
    await t.rejects(send(port, request), { code: 'ECONNRESET' }, 'HTTP/1.0')
  },
)

t.test('an export whose key ends meanwhile is broken off', async (t) => {
  const store = await many(t)
  let expiresAt = new Date()
  let pages = 0
  const { open } = await started(
    t,
    beforeLaterPages(store, async () => {
      pages += 1
      while (new Date() <= expiresAt) await setTimeout(20)
    }),
  )
  let ended: unknown[] = []
  // On a slow machine the key has ended before the second page, so it gets more time.
  for (let ms = 700; pages === 0; ms *= 2) {
    expiresAt = new Date(Date.now() + ms)
    const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Short', expiresAt })
    const response = await open('/v1/exports/entries.csv', { authorization: `Bearer ${key}` })
    const error = await response.toArray().catch(({ code }) => code)
    ended = [response.statusCode, error]
  }
  t.same(ended, [200, 'ECONNRESET'])
  t.equal(pages, 2, 'one page is read ahead, and the fourth is not read')
})

t.test('an error before the first byte is a usual problem', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  const { get } = await testApp(t, {
    store: { ...store, aggregate: () => Promise.reject(new StoreUnavailable(new Error('away'))) },
  })
  for (const format of ['ndjson', 'csv', 'geojson', 'parquet', 'csv?form=f']) {
    const { headers, ...response } = await get(`/v1/exports/entries.${format}`, A)
    t.match(response.json(), { status: 503, code: 'service_unavailable' }, format)
    t.match(headers['content-type'], 'application/problem+json')
    t.equal(headers['content-disposition'], undefined)
  }
})

t.test('a record that does not fit ends an export, unless it is to be left out', { skip: leftToGate }, async (t) => {
  const lines: string[] = []
  const store = await many(t)
  await store.insert('entries', [a.entry(1, { _id: 'e000200x', answers: 'none' as never })])
  const app = await buildApp(testConfig({ LOG_LEVEL: 'warn' }), store, { write: (line: string) => lines.push(line) })
  t.teardown(() => app.close())
  const port = await listen(app)
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })
  const headers = { authorization: `Bearer ${key}` }
  for (const name of ['entries.ndjson', 'entries.csv', 'entries.geojson', 'entries.parquet', 'answers.csv']) {
    const url = `http://127.0.0.1:${port}/v1/exports/${name}`
    const file = await fetch(url, { headers })
    await t.rejects(file.arrayBuffer(), name)
    t.match(lines.join('\n'), 'entries e000200x: answers is BSON string, not an array', name)
    lines.length = 0
    const text = await (await fetch(`${url}?unreadable=skip`, { headers })).text()
    t.notMatch(text.split('\n').slice(0, -2).join('\n'), 'e000200x')
    const told = '{"unreadable":[{"id":"e000200x","message":"answers is BSON string, not an array"}]}'
    t.equal(text.endsWith(`\n${told}\n`), name.endsWith('ndjson'), `${name}: the last line of NDJSON tells of it`)
    t.match(
      lines.join('\n'),
      '"records":["e000200x: answers is BSON string, not an array"],"msg":"left out of an export"',
    )
    lines.length = 0
    const response = await fetch(`${url}?idFrom=e000200x`, { headers })
    t.equal(response.status, 500, `${name}: a problem if it is on the first page`)
  }
})

t.test(
  'nothing is read for a caller who does not read, and no more when the caller leaves',
  { skip: leftToGate },
  async (t) => {
    // A page is 2 MiB, so most of them are more than a connection holds.
    const store = await many(t, 1000, { answers: [{ type: 'text', question: 'What?', answer: 'x'.repeat(30_000) }] })
    let reads = 0
    const { app, open } = await started(
      t,
      beforeLaterPages(store, async () => {
        reads += 1
      }),
      { METRICS_PORT: '0' },
    )
    const response = await open('/v1/exports/entries.ndjson')
    await setTimeout(500)
    const unread = reads
    const [, share] = /^field_data_response_memory_ratio (\S+)$/m.exec(String(await app.metrics?.text())) ?? []
    t.ok(
      Number(share) * 256 > 5,
      `its key holds ${Number(share) * 256} MiB: two parts and the page that was read ahead`,
    )
    t.ok(unread < 10, `${unread} of 15 pages`)
    response.destroy()
    await setTimeout(200)
    const left = reads
    await setTimeout(200)
    t.equal(reads, left)
    t.match(String(await app.metrics?.text()), /^field_data_response_memory_ratio 0$/m, 'nothing is held any more')
    t.ok(left <= unread + 1)
  },
)
