// Compiles TypeScript files into dist/ if any of them changed since the last time, and says so.
// Usage: node scripts/compile.js           the service and its commands, in some seconds: their types are not checked
//        node scripts/compile.js PROJECT   all files of a tsconfig.json, with their types
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const project = process.argv[2]
const SERVICE = ['src', 'schemas', 'seed']

const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))

const begin = () => {
  process.stderr.write('Compiling…\n')
  // What was compiled from files that are gone, such as a test that has been renamed.
  for (const folder of [...SERVICE, 'test', 'acceptance'].filter((name) => existsSync(join('dist', name)))) {
    for (const output of filesIn(join('dist', folder), '.js').concat(filesIn(join('dist', folder), '.js.map'))) {
      const source = output.replace(/^dist\/(.*)\.js(\.map)?$/, '$1.ts')
      if (!existsSync(source)) rmSync(output)
    }
  }
}

const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const outputOf = (source) => join('dist', source.replace(/ts$/, 'js'))

/** Compiles each file by itself. TypeScript is loaded only if there is something to do. */
const compileService = async () => {
  const outdated = SERVICE.flatMap((folder) => filesIn(folder, '.ts')).filter(
    (source) => timeOf(source) > timeOf(outputOf(source)),
  )
  if (outdated.length === 0) return 0
  begin()
  const { default: ts } = await import('typescript')
  const { report } = await import('./diagnostics.js')
  const { compilerOptions } = ts.readConfigFile('tsconfig.json', ts.sys.readFile).config
  // package.json says that all modules are ES modules, which a file alone does not tell.
  const options = ts.convertCompilerOptionsFromJson(
    { ...compilerOptions, module: 'esnext', moduleResolution: 'bundler' },
    '.',
  ).options
  let status = 0
  for (const source of outdated) {
    const output = outputOf(source)
    const text = readFileSync(source, 'utf8')
    const compiled = ts.transpileModule(text, { fileName: source, compilerOptions: options, reportDiagnostics: true })
    for (const diagnostic of compiled.diagnostics) report(diagnostic)
    if (compiled.diagnostics.length > 0) {
      // It is not written, so that the next start says the same.
      status = 1
      continue
    }
    mkdirSync(dirname(output), { recursive: true })
    const path = join(
      ...dirname(output)
        .split('/')
        .map(() => '..'),
      source,
    )
    const map = { ...JSON.parse(compiled.sourceMapText), sources: [path] }
    writeFileSync(`${output}.map`, JSON.stringify(map))
    // Another process may load the file at this moment.
    writeFileSync(`${output}.${process.pid}`, compiled.outputText)
    renameSync(`${output}.${process.pid}`, output)
  }
  return status
}

/** Compiles a project, as `tsc --build` does. */
const compileProject = async () => {
  const { default: ts } = await import('typescript')
  const { report } = await import('./diagnostics.js')
  const builder = ts.createSolutionBuilder(ts.createSolutionBuilderHost(ts.sys, undefined, report), [project], {})
  const outdated = builder.getNextInvalidatedProject()
  if (outdated?.kind === ts.InvalidatedProjectKind.Build) begin()
  return outdated?.done() ?? 0
}

process.exitCode = await (project === undefined ? compileService() : compileProject())
