// Imports run one way: server, app, plugins and routes, pipelines, schemas. And each file says what it is for.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const files = ['src', 'schemas', 'seed', 'bench', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
)

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^(?:import|export)\s[^;]*?from '([^']+)'/gms)].map(([, name]) =>
    (name as string).startsWith('.') ? normalize(join(dirname(file), name as string)) : (name as string),
  )

/** For each room the only things of this project that it may import, beside itself, and packages that it may not. */
const rooms: { room: RegExp; may: RegExp; mayNot?: RegExp }[] = [
  { room: /^schemas\//, may: /^schemas\//, mayNot: /^(fastify|@fastify|mongodb|mingo|node:)/ },
  {
    room: /^src\/pipelines\//,
    may: /^(schemas\/|src\/pipelines\/|src\/store\/collections)/,
    mayNot: /^(fastify|mongodb|mingo)/,
  },
  { room: /^src\/serializer\//, may: /^(schemas\/|src\/serializer\/)/, mayNot: /^(mongodb|mingo)/ },
  {
    room: /^src\/store\//,
    may: /^(schemas\/|src\/store\/|src\/serializer\/bson|src\/pipelines\/stages)/,
    mayNot: /^(@?fastify)/,
  },
  {
    room: /^src\/keys\//,
    may: /^src\/(keys\/|pipelines\/stages|store\/(collections|store))/,
    mayNot: /^(@?fastify|mongodb)/,
  },
  { room: /^src\/limits\//, may: /^src\/limits\//, mayNot: /./ },
  {
    room: /^src\/routes\//,
    may: /^(schemas\/|src\/(routes|pipelines|plugins)\/|src\/(problems|config)|src\/keys\/keys|src\/serializer\/(etag|bson))/,
    mayNot: /^(mongodb|mingo)/,
  },
  {
    room: /^src\/plugins\//,
    may: /^(schemas\/|src\/(plugins|limits)\/|src\/(problems|validation|http-server)|src\/keys\/|src\/store\/store|src\/serializer\/(output|bson))/,
    mayNot: /^(mongodb|mingo)/,
  },
  {
    room: /^seed\//,
    may: /^(seed\/|schemas\/|src\/(commands\/run-command|keys\/keys|store\/(collections|store)))/,
    mayNot: /^(@?fastify)/,
  },
]

t.test('no room imports from a room above it', async (t) => {
  t.ok(files.length > 50)
  for (const { room, may, mayNot } of rooms) {
    const inRoom = files.filter((file) => room.test(file))
    t.ok(inRoom.length > 0, `${room} has files`)
    for (const file of inRoom) {
      for (const name of importsOf(file)) {
        const own = /^(src|schemas|seed|bench|test)\//.test(name)
        t.ok(own ? may.test(name) : !mayNot?.test(name), `${file} imports ${name}`)
      }
    }
  }
})

t.test('the database and its stand-in are known to the stores alone', async (t) => {
  for (const file of files.filter((name) => name.startsWith('src/') && !name.startsWith('src/store/'))) {
    for (const name of importsOf(file)) t.notMatch(name, /^(mongodb|mingo)/, file)
  }
})

t.test('the environment is read in one place', async (t) => {
  const readers = files.filter((name) => name.startsWith('src/') && readFileSync(name, 'utf8').includes('process.env'))
  t.same(readers, ['src/config.ts'])
})

t.test('every file begins with what it is for, and exports by name', async (t) => {
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    t.match(text, /^(#!.*\n)?\/\/ \S/, file)
    t.notMatch(text, /^export default/m, file)
  }
})

t.test('commands write through one function, which lets nothing through that a terminal obeys', async (t) => {
  const commands = files.filter((name) => name.startsWith('src/commands/') || name === 'seed/command.ts')
  const writers = commands.filter((name) => /\.write\(|console\./.test(readFileSync(name, 'utf8')))
  t.same(writers, ['src/commands/run-command.ts'])
})
