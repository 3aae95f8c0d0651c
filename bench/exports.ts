// What exports cost at a large size: time against the driver's own reading, processor time, memory and the first byte. And
// what twenty of them at once do to another organisation. On the server, with `npm run bench -- --exports`.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { BSON, MongoClient } from 'mongodb'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type Server, startLoad } from './processes.js'
import { median, quantiles } from './timing.js'
import { usually } from './trial.js'

const formats = ['ndjson', 'csv', 'geojson', 'parquet', 'xlsx'] as const
type Format = (typeof formats)[number]

interface Measured {
  seconds: number
  /** Of the service, in seconds. */
  cpu: number
  /** The most resident memory above that of the idle service, in MiB. */
  memory: number
  megabytes: number
}

export interface Exports {
  entries: number
  byFormat: Record<Format, Measured>
  driverSeconds: number
  /** In milliseconds, of an export and of a page of 1,000. */
  firstByte: Record<Format, number>
  firstPage: number
  ratios: Record<string, number>
}

const PAGE = 1000
const LOOK_MS = 100
const FIRST_BYTES = usually(15, 1)
const AT_ONCE = 20
const UNREAD = 4
const REST_MS = usually(3000, 100)

export const exportMethod = `On the server, one export at a time, read by a program that does nothing with it. Between them the driver reads all
entries as raw documents, in pages of ${PAGE} in the order of ids; the median counts. Memory is the most that the service has above what it has before.`

const open = async ({ port }: Server, key: string, path: string): Promise<IncomingMessage> => {
  const headers = { authorization: `Bearer ${key}` }
  const [response] = (await once(request({ port, path, headers }).end(), 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`)
  return response
}

/** Reads an export to its end, and looks at the service meanwhile. */
const measure = async (server: Server, key: string, path: string): Promise<Measured> => {
  await sleep(REST_MS)
  const before = await server.usage()
  let [most, isOver] = [before.rss, false]
  const looking = (async () => {
    while (!isOver) {
      most = Math.max(most, (await server.usage()).rss)
      await sleep(LOOK_MS)
    }
  })()
  const start = performance.now()
  const response = await open(server, key, path)
  let bytes = 0
  for await (const chunk of response) bytes += chunk.length
  const seconds = (performance.now() - start) / 1000
  isOver = true
  await looking
  const { cpu } = await server.usage()
  return { seconds, cpu: (cpu - before.cpu) / 1e6, memory: (most - before.rss) / 2 ** 20, megabytes: bytes / 1e6 }
}

/** Reads all entries by the driver alone, raw, in the order of ids. */
const driverSeconds = async ({ uri, organisation }: Database): Promise<number> => {
  const client = new MongoClient(uri)
  const start = performance.now()
  let last = ''
  for (;;) {
    const pipeline = [{ $match: { organisation, _id: { $gt: last } } }, { $sort: { _id: 1 } }, { $limit: PAGE }]
    const command = { aggregate: 'entries', pipeline, cursor: { batchSize: PAGE + 1 } }
    const { cursor } = await client.db().command(command, { fieldsAsRaw: { firstBatch: true } })
    if (cursor.firstBatch.length < PAGE) break
    last = BSON.deserialize(cursor.firstBatch.at(-1))._id
  }
  const seconds = (performance.now() - start) / 1000
  await client.close()
  return seconds
}

/** The median time to the first byte of the body, in milliseconds. The rest is not read. */
const firstByte = async (server: Server, key: string, path: string): Promise<number> => {
  const times: number[] = []
  for (let i = 0; i < FIRST_BYTES; i++) {
    const start = performance.now()
    const response = await open(server, key, path)
    await once(response, 'readable')
    times.push(performance.now() - start)
    response.destroy()
    await sleep(LOOK_MS)
  }
  return median(times)
}

export const exportsOf = async (database: Database, say: (text: string) => void): Promise<Exports> => {
  const { key, uri, entries } = database
  const server = await startService({ key }, { uri })
  const path = (format: Format) => `/v1/exports/entries.${format}`
  const firstPage = await firstByte(server, key, `/v1/entries?perPage=${PAGE}&total=false`)
  const first = {} as Record<Format, number>
  for (const format of formats) first[format] = await firstByte(server, key, path(format))
  say(`first byte: page ${firstPage.toFixed(0)} ms, ${JSON.stringify(first)}`)

  const byFormat = {} as Record<Format, Measured>
  const byDriver: number[] = []
  for (const format of formats) {
    byDriver.push(await driverSeconds(database))
    byFormat[format] = await measure(server, key, path(format))
    say(`the driver ${byDriver.at(-1)?.toFixed(1)} s, ${format} ${JSON.stringify(byFormat[format])}`)
  }
  await server.stop()
  byDriver.push(await driverSeconds(database))
  const vsDriver = Object.fromEntries(
    formats.map((format) => [`export.${format}VsRawDriver`, median(byDriver) / byFormat[format].seconds]),
  )
  return {
    entries,
    byFormat,
    driverSeconds: median(byDriver),
    firstByte: first,
    firstPage,
    ratios: {
      ...vsDriver,
      'export.parquetCpu': byFormat.parquet.cpu / byFormat.ndjson.cpu,
      'export.xlsxCpu': byFormat.xlsx.cpu / byFormat.csv.cpu,
      'export.memory': Math.max(...formats.map((format) => byFormat[format].memory)),
      'export.firstByte': Math.max(...formats.map((format) => first[format])) / firstPage,
    },
  }
}

/** An entry by id of one organisation, alone and beside exports of another, of which some are not read. */
export const besideExports = async ([attacker, other]: readonly [Database, Database], ms: number) => {
  const load = startLoad()
  const server = await startService(other, other)
  const { data } = (await server.get('/v1/entries?perPage=1')) as { data: { id: string }[] }
  const byId = async () => quantiles(await server.times(load, `/v1/entries/${data[0]?.id}`, ms))
  await byId()
  const alone = await byId()
  const idle = (await server.usage()).rss
  let isOver = false
  const exporting = Array.from({ length: AT_ONCE }, async (_, i) => {
    const path = `/v1/exports/entries.${formats[i % formats.length]}`
    while (!isOver) {
      const response = await open(server, attacker.key, path).catch(() => undefined)
      if (response === undefined) await sleep(LOOK_MS)
      else if (i < UNREAD) await sleep(ms)
      else
        await response
          .resume()
          .toArray()
          .catch(() => {})
      response?.destroy()
    }
  })
  await sleep(REST_MS)
  const beside = await byId()
  const memory = ((await server.usage()).rss - idle) / 2 ** 20
  isOver = true
  await server.stop()
  await Promise.all(exporting)
  return { alone, beside, memory, ratio: beside.p99 / alone.p99 }
}
export type BesideExports = Awaited<ReturnType<typeof besideExports>>
