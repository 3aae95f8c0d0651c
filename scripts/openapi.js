// Writes the description of the API: openapi.yaml, and the examples in it as the service sends them with the demo data.
// Usage: npm run openapi. It needs no database.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const EXAMPLES = 'src/plugins/openapi-examples.ts'
const run = (...command) => {
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

const [step] = process.argv.slice(2)
if (step === undefined) {
  for (const next of ['examples', 'document']) {
    run('scripts/compile.js', 'tsconfig.json')
    run('scripts/openapi.js', next)
  }
} else if (step === 'examples') {
  const { recordExamples } = await import('../dist/test/support/recorded.js')
  const { responses, problems } = await recordExamples()
  const type = 'Readonly<Record<string, unknown>>'
  writeFileSync(
    EXAMPLES,
    `// The examples of the OpenAPI document: what the service sends with the demo data. \`npm run openapi\` writes this file.

/** The responses of the operations. */
export const responseExamples: ${type} = ${JSON.stringify(responses)}

/** The errors, by their codes. */
export const problemExamples: ${type} = ${JSON.stringify(problems)}
`,
  )
  run('node_modules/@biomejs/biome/bin/biome', 'format', '--write', EXAMPLES)
} else {
  const { openapiFile } = await import('../dist/test/support/recorded.js')
  writeFileSync('openapi.yaml', await openapiFile())
}
