// GDAL reads map features: ogr2ogr of this machine, and the GDAL of pyogrio, which is newer, in the folder of TEST_TOOLS. R's sf
// and geopandas read by the same library.
import { execFile, execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { listen, testApp } from '../test/support/app.js'
import { A, a } from '../test/support/tenants.js'

const execute = promisify(execFile)
const folder = process.env.TEST_TOOLS
const tools = folder && join(resolve(folder), 'files/bin/python')

/** What GDAL makes of the layer: the types of its columns, and its rows. */
interface Layer {
  columns: Record<string, string>
  rows: Record<string, unknown>[]
}
type Read = (address: string, key: string, where: string, cwd: string) => Promise<Layer>

const byOgr2ogr: Read = async (address, key, where, cwd) => {
  const run = async (name: string, ...argv: string[]) =>
    (await execute(name, argv, { cwd, env: { ...process.env, GDAL_HTTP_USERPWD: `:${key}` } })).stdout
  await run('ogr2ogr', 'm.gpkg', address, 'entries', '-overwrite', ...(where === '' ? [] : ['-where', where]))
  const columns = (await run('ogrinfo', '-so', '-al', 'm.gpkg')).matchAll(/^([\w.]+): (\w+) \([\d.]+\)$/gm)
  const { features } = JSON.parse(await run('ogr2ogr', '-f', 'GeoJSON', '/vsistdout/', 'm.gpkg'))
  return {
    columns: Object.fromEntries([...columns].map(([, name, type]) => [name, type])),
    rows: features.map(({ properties }: { properties: object }) => properties),
  }
}

const PYTHON = `import json, sys, pyogrio
address, where = sys.argv[1:]
info = pyogrio.read_info(address, layer='entries')
types = {'object': 'String', 'float64': 'Real', 'datetime64[ms]': 'DateTime'}
fields, _, _, data = pyogrio.raw.read(address, layer='entries', where=where or None)
rows = [{name: value for name, value in zip(fields['fields'], row) if value == value} for row in zip(*data)]
columns = {name: types.get(type, type) for name, type in zip(info['fields'], map(str, info['dtypes']))}
print(json.dumps({'columns': columns, 'rows': rows}, default=str))`

const byPyogrio: Read = async (address, key, where) => {
  const env = { ...process.env, GDAL_HTTP_USERPWD: `:${key}` }
  return JSON.parse((await execute(String(tools), ['-c', PYTHON, address, where], { env })).stdout)
}

const hasOgr2ogr = (): boolean => {
  try {
    return execFileSync('ogr2ogr', ['--version']).length > 0
  } catch {
    return false
  }
}

const texts = ['status', 'dispatch', 'form', 'project', 'agent', 'answers', 'updatedAt']
const places = ['address', 'country', 'state', 'lga', 'city'].map((name) => `location.${name}`)
const COLUMNS = {
  ...Object.fromEntries([...texts, ...places].map((name) => [name, 'String'])),
  ...{ duration: 'Real', createdAt: 'DateTime' },
  ...{ 'location.coordinates.longitude': 'Real', 'location.coordinates.lattitude': 'Real' },
}

const { location, ...nowhere } = a.entry(0)
/** Only the last has a place, and numbers with fractions. Each was created a day after the one before, and changed at noon. */
const entries = Array.from({ length: 30 }, (_, n) => ({
  ...nowhere,
  ...(n > 9 && { location: { coordinates: { longitude: 8, lattitude: 11 } } }),
  ...(n === 29 && { location: { city: 'Kano', coordinates: { longitude: 8.54, lattitude: 12 } } }),
  _id: `entry ${n + 10}`,
  duration: n === 29 ? 300.5 : 300,
  createdAt: new Date(Date.UTC(2024, 0, 15 + n)),
  updatedAt: new Date(Date.UTC(2024, 0, 16 + n, 12, 0, 0, n)),
}))
type Entry = (typeof entries)[0]

const before = (time: string) => (value: Date) => value < new Date(time)
const CASES: [where: string, isFound: (entry: Entry) => boolean][] = [
  ["createdAt < '2024-02-01'", ({ createdAt }) => before('2024-02-01')(createdAt)],
  ["createdAt >= '2024-02-01T00:00:00Z'", ({ createdAt }) => !before('2024-02-01')(createdAt)],
  [
    "createdAt >= '2024-01-20' AND createdAt < '2024-02-01' AND duration < 300.5",
    ({ createdAt }) => !before('2024-01-20')(createdAt) && before('2024-02-01')(createdAt),
  ],
  ["createdAt = '2024-01-20'", ({ _id }) => _id === 'entry 15'],
  ["updatedAt < '2024-02-01'", ({ updatedAt }) => before('2024-02-01')(updatedAt)],
  ["updatedAt >= '2024-02-01T12:00:00.016Z'", ({ updatedAt }) => !before('2024-02-01T12:00:00.016Z')(updatedAt)],
]

for (const [name, read, skip] of [
  ['ogr2ogr', byOgr2ogr, !hasOgr2ogr() && 'ogr2ogr is not installed'],
  ['pyogrio', byPyogrio, tools === undefined && 'TEST_TOOLS is not set'],
] as const) {
  t.test(`${name} has every column with its type, and its filters by time are right`, { skip }, async (t) => {
    const { app, keyOf } = await testApp(t, { fill: (store) => store.insert('entries', entries) })
    const address = `OAPIF:http://127.0.0.1:${await listen(app)}/v1/ogc`
    const layer = async (where: string, organisation = A) =>
      read(address, await keyOf(organisation), where, t.testdirName)
    t.testdir({})
    const { columns, rows } = await layer('')
    t.same(columns, { id: 'String', ...COLUMNS })
    t.equal(rows.length, 30)
    t.match(rows[29], { duration: 300.5, 'location.city': 'Kano', 'location.coordinates.longitude': 8.54 })
    t.ok(rows[0]?.answers)
    t.same(await layer('', 'nobody'), { columns: COLUMNS, rows: [] }, 'a collection without entries has its columns')
    for (const [where, isFound] of CASES) {
      const ids = (await layer(where)).rows.map(({ id }) => id)
      t.same(
        ids,
        entries.filter(isFound).map(({ _id }) => _id),
        where,
      )
    }
  })
}
