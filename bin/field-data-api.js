#!/usr/bin/env node
// The command `field-data-api`. In a clone it first compiles what has changed; an installed package comes compiled.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const root = `${import.meta.dirname}/..`
const compile = `${root}/scripts/compile.js`
const status = existsSync(compile) ? spawnSync(process.execPath, [compile], { cwd: root, stdio: 'inherit' }).status : 0
if (status === 0) await import('../dist/src/cli.js')
else process.exitCode = 1
