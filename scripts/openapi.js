// Writes the description of the API: openapi.yaml, and the examples in it as the service sends them with the demo data.
// Usage: npm run openapi. It needs no database.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import './compile.js'

const EXAMPLES = 'pages/openapi-examples.json'
const run = (...command) => {
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

const { openapiFile, recordExamples } = await import('../dist/test/support/recorded.js')
writeFileSync(EXAMPLES, JSON.stringify(await recordExamples(), undefined, 2))
run('node_modules/@biomejs/biome/bin/biome', 'format', '--write', EXAMPLES)
writeFileSync('openapi.yaml', await openapiFile())
