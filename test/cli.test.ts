// The commands as processes: which one is run, on which database, and its exit code.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { parse } from 'yaml'
import { printed, runProgram, startProgram } from './support/process.js'
import { isThorough, leftToGate } from './support/thorough.js'
import { WireServer } from './support/wire-server.js'

// Most of the time goes by in waiting for processes to start.
t.jobs = 3

/** The settings of a command on a database, with time for a server on a busy machine. */
const patient = ({ uri }: WireServer) => ({ MONGODB_URI: `${uri}?serverSelectionTimeoutMS=20000` })

t.test('a command runs on the database that MONGODB_URI names', async (t) => {
  const server = await WireServer.for(t)
  const now = new Date()
  await server.store.insert('organisations', [{ _id: 'org', name: 'Org', createdAt: now, updatedAt: now }])
  const argv = ['keys', 'issue', '--organisation', 'org', '--name', 'Sync']
  const { code, stdout } = await runProgram(t, 'src/cli.ts', { argv, settings: patient(server), covered: true })
  t.equal(code, 0)
  t.match(stdout, /^fda_\w+$/m)
  t.match(await server.store.dangerouslyFindAll('apiKeys', {}), [{ organisation: 'org', name: 'Sync' }])
})

t.test('a missing database, one that is down, and an unknown command are reported', { skip: leftToGate }, async (t) => {
  const run = (argv: string[], settings: Record<string, string>) => runProgram(t, 'src/cli.ts', { argv, settings })
  t.match(await runProgram(t, 'src/cli.ts', { argv: ['keys', 'list'], covered: true }), {
    code: 1,
    output: /invalid:\n {2}MONGODB_URI is missing: it must name/,
  })
  // What runs in a process of its own here is tested in one process by run-command.test.ts.
  if (!isThorough) return
  const MONGODB_URI = 'mongodb://127.0.0.1:1/x'
  const down = await run(['keys', 'list'], { MONGODB_URI })
  t.match(down, { code: 1, output: /^The database cannot be reached: connect ECONNREFUSED/m })
  t.notMatch(down.output, /\n +at /)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.match(await run(['--version'], {}), { code: 0, output: `${version}\n` })
  const help = await run(['help'], {})
  t.match(help, { code: 0, stdout: '$ npx field-data-api serve\n' })
  t.match(help.stdout, /^ {2}1 {2}.* a setting is missing or invalid$/m)
  t.match(await run(['ky'], { MONGODB_URI }), { code: 2, output: "Unknown command 'ky'\n(Did you mean keys?)\n" })
})

// That `serve` starts the service is shown by server.test.ts.
t.test('serve stops with a message if a setting cannot be used', { skip: leftToGate }, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const settings = { PORT: `${port}`, DEMO_SCENARIO: 'tiny' }
  const refused = await runProgram(t, 'src/cli.ts', { argv: ['serve'], settings, covered: true })
  t.match(refused, { code: 1, output: `HOST 127.0.0.1, PORT ${port}: listen EADDRINUSE` })
  t.notMatch(refused.output, /\n +at /)
})

t.test('openapi prints the document without a database, as YAML or JSON', { skip: leftToGate }, async (t) => {
  const print = async (...argv: string[]) => {
    const { code, stdout } = await runProgram(t, 'src/cli.ts', { argv: ['openapi', ...argv], covered: true })
    t.equal(code, 0)
    return stdout
  }
  const document = JSON.parse(await print('--json'))
  t.match(document, { openapi: '3.1.0', paths: { '/v1/entries': { get: { operationId: 'listEntries' } } } })
  if (isThorough) t.same(parse(await print()), document)
})

t.test('live operations end with SIGINT', { skip: leftToGate }, async (t) => {
  const server = await WireServer.for(t)
  const argv = ['seed', '--scenario', 'tiny', '--live', '100/s']
  const child = startProgram(t, 'src/cli.ts', { argv, settings: patient(server), covered: true })
  await printed(child, /fda_/)
  const before = server.commands.length
  while (server.commands.length < before + 5) await setTimeout(20)
  child.kill('SIGINT')
  t.same(await once(child, 'exit'), [0, null])
  t.match(child.output(), /^Added \d+, changed \d+, deleted \d+$/m)
  const remove = { argv: ['organisations', 'remove', 'tiny'], settings: patient(server), covered: true }
  t.match(await runProgram(t, 'src/cli.ts', remove), {
    code: 1,
    output: /There is no terminal to ask on: use --yes\n$/,
  })
})
