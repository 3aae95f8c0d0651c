// Runs before tap's own code in every process of the tests, and keeps tap from registering module loaders. They would load
// every module by way of a second thread, which takes a second in each process. They are for what these tests do not use:
// TypeScript that is not compiled, replaced modules, and `tap --changed`. Coverage does not need them.
import module, { syncBuiltinESMExports } from 'node:module'

module.register = () => {}
syncBuiltinESMExports()
