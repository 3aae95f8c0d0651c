// Rules for all source files: they import in one direction, as drawn in docs/architecture.md, and say what they are for.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const files = ['src', 'schemas', 'seed', 'bench', 'test', 'acceptance'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('node_modules'))
    .map((name) => join(folder, name)),
)

/** The three forms of an import: for effect, of names, and when it is needed. */
const IMPORT = /(?:^import |^(?:import|export)\s[^;]*?from |\bimport\()'([^']+)'/gms

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, name]) =>
    (name as string).startsWith('.') ? normalize(join(dirname(file), name as string)) : (name as string),
  )

const roomOf = (file: string): string => dirname(file)

/** The lines of the drawing in docs/architecture.md, from the top; rooms on one line do not import each other. */
const layers = ((/```text\n(.*?)```/s.exec(readFileSync('docs/architecture.md', 'utf8')) ?? [])[1] ?? '')
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))

t.test('a room imports only from rooms that are drawn below it', async (t) => {
  const code = files.filter((file) => /^(src|schemas|seed)\//.test(file))
  t.same(layers.flat().sort(), [...new Set(code.map(roomOf))].sort(), 'every room is drawn once')
  const layerOf = (room: string) => layers.findIndex((layer) => layer.includes(room))
  for (const file of code) {
    for (const name of importsOf(file).filter((name) => name.endsWith('.js'))) {
      const [from, to] = [roomOf(file), roomOf(name)]
      t.ok(from === to || layerOf(from) < layerOf(to), `${file} imports ${name}`)
    }
  }
})

/** Packages and files that only some rooms may import. */
const restricted: { name: RegExp; rooms: RegExp }[] = [
  { name: /^(mongodb|mingo)/, rooms: /^src\/store$/ },
  { name: /^src\/store\/(?!store\.|references\.)/, rooms: /^src(\/(store|config))?$/ },
  { name: /^src\/serializer\/(generator|scalars)/, rooms: /^src\/serializer$/ },
  { name: /^hyparquet/, rooms: /^src\/exports$/ },
  { name: /^@opentelemetry/, rooms: /^src\/metrics$/ },
  { name: /^@?fastify/, rooms: /^src(\/(http|mcp|pages|plugins|routes|serializer|validation))?$/ },
  { name: /^@modelcontextprotocol/, rooms: /^src\/mcp$/ },
  { name: /^node:(net|http)/, rooms: /^src(\/(http|plugins|problems|store|commands|validation|config))?$/ },
  { name: /^node:fs/, rooms: /^src(\/(http|pages|plugins|problems|store|commands|validation|config|exports))?$/ },
]

t.test('few rooms import the database driver, the framework, the system and the inner files of others', async (t) => {
  for (const file of files.filter((file) => /^(src|schemas|seed)\//.test(file))) {
    for (const imported of importsOf(file)) {
      for (const { name, rooms } of restricted) {
        if (name.test(imported)) t.match(roomOf(file), rooms, `${file} imports ${imported}`)
      }
    }
  }
})

t.test('nothing but the driver opens connections', async (t) => {
  for (const file of files.filter((file) => /^(src|schemas|seed)\//.test(file))) {
    t.notMatch(readFileSync(file, 'utf8'), /(?<![.\w])(fetch|WebSocket|EventSource)\(/, file)
    for (const imported of importsOf(file)) {
      t.notMatch(imported, /^(node:)?(https|http2|tls|dgram|dns|child_process|inspector|undici)\b/, file)
    }
  }
})

t.test('one file reads environment variables', async (t) => {
  const readers = files.filter((name) => name.startsWith('src/') && readFileSync(name, 'utf8').includes('process.env'))
  t.same(readers, ['src/config/config.ts'])
})

t.test('every file begins with a comment that says what it is for, and has no default export', async (t) => {
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    t.match(text, /^(#!.*\n)?\/\/ \S/, file)
    t.notMatch(text, /^export default/m, file)
  }
})

t.test('commands write through one file, which removes control characters', async (t) => {
  const commands = files.filter((name) => name.startsWith('src/commands/'))
  const writers = commands.filter((name) => /\.write\(|console\./.test(readFileSync(name, 'utf8')))
  t.same(writers, ['src/commands/run-command.ts'])
})
