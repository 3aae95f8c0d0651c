// Compiles the TypeScript files of a project into dist/ if any of them changed since the last time, and says so.
// Usage: node scripts/compile.js [PROJECT], by default tsconfig.build.json: the service and its commands.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { report } from './diagnostics.js'

const project = process.argv[2] ?? 'tsconfig.build.json'

/** Deletes what was compiled from files that are gone, such as a test that has been renamed. */
const deleteStaleOutput = () => {
  for (const folder of ['src', 'schemas', 'seed', 'test', 'acceptance'].filter((name) =>
    existsSync(join('dist', name)),
  )) {
    for (const name of readdirSync(join('dist', folder), { recursive: true, encoding: 'utf8' })) {
      const source = /^(.*)\.js(\.map)?$/.exec(name)?.[1]
      if (source !== undefined && !existsSync(join(folder, `${source}.ts`))) rmSync(join('dist', folder, name))
    }
  }
}

const builder = ts.createSolutionBuilder(ts.createSolutionBuilderHost(ts.sys, undefined, report), [project], {})
const outdated = builder.getNextInvalidatedProject()
if (outdated?.kind === ts.InvalidatedProjectKind.Build) {
  process.stderr.write('Compiling…\n')
  deleteStaleOutput()
}
process.exitCode = outdated?.done() ?? 0
