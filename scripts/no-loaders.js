// Runs before tap's own code in every process of the tests, and keeps tap from what takes long and is of no use here.
// - Module loaders would load every module by way of a second thread, which takes a second in each process. They are for
//   TypeScript that is not compiled, replaced modules, and `tap --changed`. Coverage does not need them. That
//   of TypeScript fails with TypeScript 7, so each thread tells tap by a variable not to load it.
// - Asynchronous hooks would be called for every promise, which takes an eighth of all time. They are for an error that is
//   thrown where nobody waits for it. Now it ends the process: Node prints it, and tap names the test that is unfinished.
// V8 would optimise code that soon has run for the last time. That of Node 20 can wait longer, which saves a tenth of all time.
import async_hooks from 'node:async_hooks'
import module, { syncBuiltinESMExports } from 'node:module'
import { setFlagsFromString } from 'node:v8'

process.env.TAP_TYPE_STRIP_ONLY = '1'
module.register = () => {}
async_hooks.createHook = () => ({ enable() {}, disable() {} })
syncBuiltinESMExports()
if (process.version.startsWith('v20.')) setFlagsFromString('--interrupt-budget=500000')
