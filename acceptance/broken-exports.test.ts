// Exports that are broken off at random points: the service is killed, its database is cut off, or the way to the caller. No
// program takes what it got for the whole, and parts that were gone on with make the whole. EXPORT_BREAKS says how often.
// With CADDY_PATH, the proxy of compose.yaml stands before the service in half of the cases.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { keysOf } from '../src/core/keys/keys.js'
import { freePort, printed, type Started, startProgram } from '../test/support/process.js'
import { databaseOn } from '../test/support/store.js'
import { A, a } from '../test/support/tenants.js'
import { isWithoutBrowser, startBrowser } from './support/browser.js'

const server = process.env.TEST_MONGODB_URI
const BREAKS = Number(process.env.EXPORT_BREAKS)
const tools = process.env.TEST_TOOLS
const caddy = process.env.CADDY_PATH
const ENTRIES = 30_000
/** A caller that got no end after this long is told so. */
const CALL_MS = 30_000

const random = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T

/** Passes bytes on until it is cut. */
class Cable {
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  isOpen = true
  /** Called with the number of bytes that have gone to the caller. */
  onBytes = (_bytes: number): void => {}
  #bytes = 0

  constructor(target: () => [port: number, host: string]) {
    this.#server = createServer({ noDelay: true }, (socket) => {
      if (!this.isOpen) return socket.destroy()
      const other = connect(...target())
      for (const [one, two] of [
        [socket, other],
        [other, socket],
      ] as const) {
        this.#sockets.add(one)
        one.on('error', () => {})
        one.on('close', () => {
          this.#sockets.delete(one)
          two.end()
        })
        one.pipe(two)
      }
      other.on('data', ({ length }) => {
        this.#bytes += length
        this.onBytes(this.#bytes)
      })
    })
  }

  async listen(t: Test): Promise<number> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => {
      this.cut()
      this.#server.close()
    })
    return (this.#server.address() as AddressInfo).port
  }

  begin(): void {
    this.isOpen = true
    this.#bytes = 0
  }

  cut(): void {
    this.isOpen = false
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** What a program says of an export: its bytes if it was whole for it, and what it got before an error. */
interface Outcome {
  readonly isWhole: boolean
  readonly got: Buffer | undefined
  /** How many bytes it got, if it says only that. */
  readonly size?: number | undefined
}

type Client = (url: string, key: string, coding: string) => Promise<Outcome>

const run = promisify(execFile)
const options = { timeout: CALL_MS, maxBuffer: 1 << 30, encoding: 'buffer' } as const

const curl: Client = async (url, key, coding) => {
  const compressed = coding === 'identity' ? [] : ['--compressed', '-H', `Accept-Encoding: ${coding}`]
  const argv = ['-sS', '--fail', '-u', `x:${key}`, ...compressed, url]
  return run('curl', argv, options).then(
    ({ stdout }) => ({ isWhole: true, got: stdout }),
    ({ stdout }) => ({ isWhole: false, got: stdout }),
  )
}

const nodeFetch: Client = async (url, key, coding) => {
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': coding }
  return fetch(url, { headers, signal: AbortSignal.timeout(CALL_MS) })
    .then(async (response) => ({ isWhole: response.ok, got: Buffer.from(await response.arrayBuffer()) }))
    .catch(() => ({ isWhole: false, got: undefined }))
}

const PANDAS = `
import base64, sys, pandas
url, key = sys.argv[1:]
read = {'csv': pandas.read_csv, 'xlsx': pandas.read_excel, 'ndjson': lambda *a, **o: pandas.read_json(*a, lines=True, **o), 'parquet': pandas.read_parquet}[url.rsplit('.', 1)[1]]
print(len(read(url, storage_options={'Authorization': 'Basic ' + base64.b64encode(('x:' + key).encode()).decode()})))
`

/** Pandas says how many rows it has, not what they are. */
const pandas: Client = async (url, key) =>
  run(`${tools}/files/bin/python`, ['-c', PANDAS, url, key], options).then(
    ({ stdout }) => ({ isWhole: Number(stdout.toString()) === ENTRIES, got: undefined }),
    () => ({ isWhole: false, got: undefined }),
  )
/** The error of openpyxl when it opens a file, or nothing. */
const openpyxlError = (file: string) =>
  run(`${tools}/files/bin/python`, ['-c', 'import sys, openpyxl; openpyxl.load_workbook(sys.argv[1])', file]).then(
    () => '',
    ({ stderr }) => String(stderr),
  )

t.test(
  'a broken export is an error for every program, and its parts make the whole',
  {
    skip: server === undefined || !BREAKS ? 'TEST_MONGODB_URI and EXPORT_BREAKS are not both set' : false,
    timeout: 3_000_000,
  },
  async (t) => {
    const { uri, store } = await databaseOn(t, String(server))
    const folder = t.testdir({})
    const now = new Date()
    await store.insert('organisations', [{ _id: A, name: 'A', createdAt: now, updatedAt: now }])
    for (let i = 0; i < ENTRIES; i += 1000) {
      const ids = Array.from({ length: 1000 }, (_, n) => `e${String(i + n).padStart(7, '0')}`)
      await store.insert(
        'entries',
        ids.map((_id) => a.entry(1, { _id })),
      )
    }
    const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })

    const { hostname, port: databasePort } = new URL(uri)
    const database = new Cable(() => [Number(databasePort || 27017), hostname])
    const proxied = new URL(uri)
    proxied.host = `127.0.0.1:${await database.listen(t)}`
    const port = await freePort()
    const settings = { PORT: String(port), MONGODB_URI: proxied.href, ENSURE_INDEXES: 'false', LOG_LEVEL: 'silent' }
    const start = async (): Promise<Started> => {
      const child = startProgram(t, 'src/server.ts', { settings })
      await printed(child, /field-data-api on http/)
      return child
    }
    let service = await start()
    const proxies = [port]
    if (caddy !== undefined) {
      proxies.push(await freePort())
      const [from, to] = [`http://127.0.0.1:${proxies[1]}`, `http://127.0.0.1:${port}`]
      const env = { ...process.env, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
      const child = spawn(caddy, ['reverse-proxy', '--from', from, '--to', to], { env, stdio: 'ignore' })
      t.teardown(() => child.kill('SIGKILL'))
    }
    let way = port
    const front = new Cable(() => [way, '127.0.0.1'])
    const base = `http://127.0.0.1:${await front.listen(t)}/v1/exports/entries`

    const clients: Record<string, Client> = { curl, fetch: nodeFetch }
    if (tools !== undefined) clients.pandas = pandas
    if (!isWithoutBrowser) {
      const browser = await startBrowser()
      t.teardown(() => browser.close())
      const page = await browser.newPage()
      await page.goto(new URL('/docs', base).href)
      clients.browser = async (url, key) => {
        const size = await page.evaluate(
          ([url, key]) =>
            fetch(url as string, { headers: { authorization: `Bearer ${key}` } })
              .then(async (response) => (response.ok ? (await response.arrayBuffer()).byteLength : undefined))
              .catch(() => undefined),
          [url, key],
        )
        return { isWhole: size !== undefined, size, got: undefined }
      }
    }

    /** Asks until all of a file comes: for a while after a break, there is no database. */
    const wholeFrom = async (url: string, coding: string, begin = () => {}): Promise<Buffer> => {
      for (let tries = 0; tries < 50; tries++) {
        begin()
        const { isWhole, got } = await nodeFetch(url, key, coding)
        if (isWhole && got !== undefined) return got
        await setTimeout(200)
      }
      throw new Error(`${url} did not come whole, as ${coding}`)
    }

    /** The whole file, and how many bytes it has on the wire. */
    const wholes = new Map<string, { file: Buffer; bytes: number }>()
    const wholeOf = async (format: string, coding: string) => {
      const name = `${format} ${coding}`
      const known = wholes.get(name)
      if (known !== undefined) return known
      let bytes = 0
      const file = await wholeFrom(`${base}.${format}`, coding, () => {
        front.begin()
        front.onBytes = (count) => {
          bytes = count
        }
      })
      const whole = { file, bytes }
      front.onBytes = () => {}
      wholes.set(name, whole)
      return whole
    }

    const counts = { broken: 0, whole: 0, resumed: 0 }
    for (let n = 0; n < BREAKS; n++) {
      const format = random(['ndjson', 'csv', 'xlsx', 'geojson', 'parquet'])
      const coding = random(['identity', 'gzip', 'br'])
      const name = random(
        Object.keys(clients).filter((each) => each !== 'pandas' || (coding === 'identity' && format !== 'geojson')),
      )
      const what = random(['service', 'database', 'way'])
      way = random(proxies)
      const { file, bytes } = await wholeOf(format, coding)
      const at = Math.ceil(Math.random() * bytes * 0.5)
      front.begin()
      front.onBytes = (count) => {
        if (count < at) return
        front.onBytes = () => {}
        if (what === 'service') service.kill('SIGKILL')
        else if (what === 'database') database.cut()
        else front.cut()
      }
      const url = `${base}.${format}`
      const { isWhole, got, size = file.length } = await (clients[name] as Client)(url, key, coding)
      front.onBytes = () => {}
      const through = way === port ? '' : ' through the proxy'
      const label = `${format} ${coding}, ${name}${through}, the ${what} at byte ${at} of ${bytes}`
      // What was sent already may have been all.
      if (isWhole) t.ok(got === undefined ? size === file.length : got.equals(file), `${label}: it is whole`)
      counts[isWhole ? 'whole' : 'broken'] += 1

      if (what === 'service') {
        if (service.killed && service.exitCode === null && service.signalCode === null) await once(service, 'exit')
        if (service.killed) service = await start()
      }
      database.isOpen = true
      front.begin()
      if (isWhole || got === undefined) continue
      if (format === 'xlsx' && tools !== undefined) {
        const part = join(folder, 'part.xlsx')
        writeFileSync(part, got)
        t.match(await openpyxlError(part), 'BadZipFile', `${label}: openpyxl does not open what has come`)
      }
      if (!['ndjson', 'csv'].includes(format)) continue
      const end = format === 'csv' ? '\r\n' : '\n'
      const lines = got.toString().split(end).slice(0, -1)
      const id =
        format === 'csv' ? lines.at(-1)?.split(',')[0] : lines.length > 0 && JSON.parse(lines.at(-1) as string).id
      const first = lines.length > 0 && id !== 'id' ? `?idFrom=${id}` : ''
      const others = (await wholeFrom(url + first, 'identity')).toString().split(end)
      // The record that the second part begins with is the last of the first part. In CSV the header comes before it.
      const joined = first === '' ? others : [...lines, ...others.slice(format === 'csv' ? 2 : 1)]
      t.ok(joined.join(end) === file.toString(), `${label}: gone on with, it is the whole`)
      counts.resumed += 1
    }
    t.comment(JSON.stringify(counts))
    // What the system holds for a slow reader reaches it also after the service was killed.
    t.ok(counts.broken > counts.whole, `most were broken: ${JSON.stringify(counts)}`)
  },
)
