// Compiles all TypeScript files into dist/ if any of them has changed since the last time, in a second or two. It does not
// check types: `npm run check` does.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

// What was compiled from files that are gone, such as a test that has been renamed.
for (const folder of ['src', 'schemas', 'seed', 'test', 'acceptance'].map((name) => join('dist', name))) {
  if (!existsSync(join(root, folder))) continue
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    const output = join(root, folder, name)
    const source = output.replace(join(root, 'dist'), root).replace(/\.js(\.map)?$/, '.ts')
    if (/\.js(\.map)?$/.test(name) && !existsSync(source)) rmSync(output)
  }
}

const tsc = join(root, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '--build', '--noCheck'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
