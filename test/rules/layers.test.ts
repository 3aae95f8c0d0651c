// Rules for all source files: they import in one direction, as drawn in docs/architecture.md, and say what they are for.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const files = ['src', 'schemas', 'seed', 'bench', 'test', 'acceptance'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('node_modules'))
    .map((name) => join(folder, name)),
)

/** The forms of an import: for effect, of names, when it is needed, and by a worker. */
const IMPORT = /(?:^import |^(?:import|export)\s[^;]*?from |\bimport\(|\bnew URL\()'([^']+)'/gms

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, name]) =>
    (name as string).startsWith('.') ? normalize(join(dirname(file), name as string)) : (name as string),
  )

const roomOf = (file: string): string => dirname(file)

/** The lines of the drawing in docs/architecture.md, from the top; folders on one line do not import each other. */
const layers = ((/```text\n(.*?)```/s.exec(readFileSync('docs/architecture.md', 'utf8')) ?? [])[1] ?? '')
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))

t.test('a folder imports only from folders that are drawn below it', async (t) => {
  const code = files.filter((file) => /^(src|schemas|seed)\//.test(file))
  t.same(layers.flat().sort(), [...new Set(code.map(roomOf))].sort(), 'every folder is drawn once')
  const layerOf = (room: string) => layers.findIndex((layer) => layer.includes(room))
  const wrong = code.flatMap((file) =>
    importsOf(file)
      .filter((name) => name.endsWith('.js') && roomOf(name) !== roomOf(file))
      .filter((name) => layerOf(roomOf(file)) >= layerOf(roomOf(name)))
      .map((name) => `${file} imports ${name}`),
  )
  t.same(wrong, [])
})

/** The imports of a file that are there when it runs. */
const valuesOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^import (?!type )(?:\{([^}]*)\}|[^'{]*)[^']*'(\.[^']+)'/gms)]
    .filter(([, names]) => names?.split(',').every((name) => /^\s*(type |$)/.test(name)) !== true)
    .map(([, , name]) => normalize(join(dirname(file), name as string)).replace(/js$/, 'ts'))

t.test('no circle of files needs a value of itself', async (t) => {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' > '))
    else if (!done.has(file)) for (const next of valuesOf(file)) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of files.filter((name) => /^(src|schemas|seed)\//.test(name))) visit(file, [])
  t.same(circles, [])
})

/** Packages and files that only some folders may import. */
const restricted: { name: RegExp; rooms: RegExp }[] = [
  { name: /^(mongodb|mingo)/, rooms: /^src\/core\/store$/ },
  { name: /^src\/core\/store\/(?!store\.|references\.)/, rooms: /^src(\/core\/(store|config))?$/ },
  { name: /^src\/core\/write\/(generator|scalars)/, rooms: /^src\/(core\/write|exports|sync)$/ },
  { name: /^hyparquet/, rooms: /^src\/exports$/ },
  { name: /^@opentelemetry/, rooms: /^src\/core\/metrics$/ },
  {
    name: /^@?fastify/,
    rooms:
      /^src(\/(core\/(door|http|keys|validation|write)|assistants|checks|counts|exports|lists|maps|me|pages|sync))?$/,
  },
  { name: /^@modelcontextprotocol/, rooms: /^src\/assistants$/ },
  {
    name: /^node:(net|http)/,
    rooms: /^src(\/(core\/(config|door|http|keys|problems|store|validation)|commands|exports))?$/,
  },
  {
    name: /^node:fs/,
    rooms: /^src(\/(core\/(config|door|http|problems|store|validation)|commands|exports|pages))?$/,
  },
]

t.test('few folders import the database driver, the framework, the system and the inner files of others', async (t) => {
  const wrong = files
    .filter((file) => /^(src|schemas|seed)\//.test(file))
    .flatMap((file) =>
      importsOf(file)
        .filter((imported) => restricted.some(({ name, rooms }) => name.test(imported) && !rooms.test(roomOf(file))))
        .map((imported) => `${file} imports ${imported}`),
    )
  t.same(wrong, [])
})

t.test('nothing but the driver opens connections', async (t) => {
  const modules = /^(node:)?(https|http2|tls|dgram|dns|child_process|inspector|undici)\b/
  const wrong = files
    .filter((file) => /^(src|schemas|seed)\//.test(file))
    .filter(
      (file) =>
        /(?<![.\w])(fetch|WebSocket|EventSource)\(/.test(readFileSync(file, 'utf8')) ||
        importsOf(file).some((imported) => modules.test(imported)),
    )
  t.same(wrong, [])
})

t.test('one file reads environment variables', async (t) => {
  const readers = files.filter((name) => name.startsWith('src/') && readFileSync(name, 'utf8').includes('process.env'))
  t.same(readers, ['src/core/config/config.ts'])
})

t.test('every file begins with a comment that says what it is for, and has no default export', async (t) => {
  const wrong = files.filter((file) => {
    const text = readFileSync(file, 'utf8')
    return !/^(#!.*\n)?\/\/ \S/.test(text) || /^export default/m.test(text)
  })
  t.same(wrong, [])
})

t.test('commands write through one file, which removes control characters', async (t) => {
  const commands = files.filter((name) => name.startsWith('src/commands/'))
  const writers = commands.filter((name) => /\.write\(|console\./.test(readFileSync(name, 'utf8')))
  t.same(writers, ['src/commands/run-command.ts'])
})
