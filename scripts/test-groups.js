// Puts test files together in processes. A process needs a second to load the service and compile its schemas, which is
// longer than most test files take. So the files of a folder share one process, except for those that need their own.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import coverageMap from './coverage-map.js'

/** Test files that take several seconds, or that change what others see, such as all sockets. */
const ALONE = new RegExp(
  `^(${[
    'log|commands/load|exports/parquet|sync/feed-model',
    'plugins/(admission|openapi)|seed/scenarios|serializer/(output|writer-(fuzz|oracle))',
    'store/(mongo-large-page|store)',
  ].join('|')})$`,
)
/** How a test file changes the options of all tests of its process, as in `t.jobs = 3`. */
const CHANGES_OPTIONS = /^t\.(?!test\()/m

const FOLDER = 'dist/groups'

/** The module of a compiled test file, or of its group. Files directly in test/ belong to those of the service. */
const moduleOf = (file) => {
  const name = file.slice('dist/test/'.length, -'.test.js'.length)
  if (ALONE.test(name) || CHANGES_OPTIONS.test(readFileSync(file, 'utf8'))) return file
  const [, folder = 'service'] = /^(\w+)\//.exec(name) ?? []
  return `${FOLDER}/${folder}${coverageMap(file) === null ? '-uncounted' : ''}.js`
}

/** Writes a module for each group of compiled test files. Returns these modules and the files that run alone. */
export const testGroups = () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const modules = new Set()
  for (const name of readdirSync('dist/test', { recursive: true, encoding: 'utf8' }).sort()) {
    if (!name.endsWith('.test.js')) continue
    const file = `dist/test/${name}`
    const module = moduleOf(file)
    modules.add(module)
    if (module !== file) writeFileSync(module, `import '../../${file}'\n`, { flag: 'a' })
  }
  return [...modules]
}
