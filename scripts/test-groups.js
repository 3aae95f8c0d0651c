// Puts test files together into processes. A process takes a second to load the service and to compile its schemas, which is
// more than most test files take. The files of a folder share one process, except for those that need their own.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import coverageMap from './coverage-map.js'

/** Test files that change what others see, such as all sockets or how many tests run at once, or that take long. */
const ALONE =
  /^(cli|log|server|commands\/load|plugins\/(admission|openapi|response-buffers)|seed\/scenarios|serializer\/writer-(fuzz|oracle)|service\/(docs-page|examples|faults|fenced-commands|overload|plans)|store\/(mongo|mongo-large-page|references|store)|sync\/feed-model)\.test\.js$/

/** Writes a module for each group of compiled test files. Returns these modules and the files that run alone. */
export const testGroups = () => {
  rmSync('dist/groups', { recursive: true, force: true })
  mkdirSync('dist/groups', { recursive: true })
  const groups = new Map()
  for (const name of readdirSync('dist/test', { recursive: true, encoding: 'utf8' }).sort()) {
    if (!name.endsWith('.test.js')) continue
    const file = `dist/test/${name.replaceAll('\\', '/')}`
    const [folder] = /^dist\/test\/(?=\w+\/)\w+/.exec(file) ?? ['dist/test/service']
    const counts = coverageMap(file) !== null
    const group = ALONE.test(name)
      ? file
      : `dist/groups/${folder.slice('dist/test/'.length)}${counts ? '' : '-uncounted'}.js`
    groups.set(group, [...(groups.get(group) ?? []), file])
  }
  for (const [group, files] of groups) {
    if (!files.includes(group)) writeFileSync(group, files.map((file) => `import '../../${file}'\n`).join(''))
  }
  return [...groups.keys()]
}
