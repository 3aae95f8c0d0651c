#!/usr/bin/env node
// The command `field-data-api`. In a clone it first compiles what has changed; an installed package comes compiled. This
// file imports nothing of the service: Node opens many of its modules at once, and where it may not, it says only that
// some file cannot be opened.
import { existsSync } from 'node:fs'

/** How many files Node opens at most to load the service, with a reserve. */
const MIN_FILES = 256

const compile = `${import.meta.dirname}/../scripts/compile.js`
const files = process.report.getReport().userLimits?.open_files.soft
if (Number(files) < MIN_FILES) {
  console.error(
    `This process may open ${files} files, but needs at least ${MIN_FILES}: raise the limit, as with ulimit -n`,
  )
  process.exit(1)
}
if (existsSync(compile)) await import(compile)
await import('../dist/src/cli.js')
