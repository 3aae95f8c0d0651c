// The commands as processes: which one is run, on which database, and its exit code.
import t from 'tap'
import { runProgram } from './support/process.js'
import { WireServer } from './support/wire-server.js'

t.test('a command runs on the database that MONGODB_URI names', async (t) => {
  const server = await WireServer.for(t)
  const now = new Date()
  await server.store.insert('organisations', [{ _id: 'org', name: 'Org', createdAt: now, updatedAt: now }])
  const argv = ['keys', 'issue', '--organisation', 'org', '--name', 'Sync']
  const { code, stdout } = await runProgram(t, 'src/cli.ts', { argv, settings: { MONGODB_URI: server.uri } })
  t.equal(code, 0)
  t.match(stdout, /^fda_\w+$/m)
  t.match(await server.store.dangerouslyFindAll('apiKeys', {}), [{ organisation: 'org', name: 'Sync' }])
})

t.test('a missing database, one that is down, and a missing command are reported', async (t) => {
  const run = (argv: string[], settings: Record<string, string>) => runProgram(t, 'src/cli.ts', { argv, settings })
  t.match(await run(['keys', 'list'], {}), { code: 2, output: /^MONGODB_URI is missing.*Usage:/s })
  const MONGODB_URI = 'mongodb://127.0.0.1:1/x'
  const down = await run(['keys', 'list'], { MONGODB_URI })
  t.match(down, { code: 1, output: /^The database cannot be reached: connect ECONNREFUSED/m })
  t.notMatch(down.output, /\n +at /)
  t.match(await run(['--help'], {}), { code: 0, output: /^Usage:/ })
  t.match(await run([], { MONGODB_URI }), { code: 2, output: /^There is no such command.*npm run db:indexes/s })
})
