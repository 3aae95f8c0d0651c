// The command that prints the OpenAPI document. test/cli.test.ts runs it on the real one.
import t from 'tap'
import { openapiCommand } from '../../src/commands/openapi.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'

t.test('the document is printed in the format that was asked for', async (t) => {
  const command = openapiCommand(async (format) => `{ "in": "${format}",\n  "text": "\u202e" }\n`)
  t.match(await tryCommand(command, testStore(t), ['--json']), {
    code: 0,
    stdout: '{ "in": "json",\n  "text": "\\u202e" }\n',
  })
  t.match(await tryCommand(command, testStore(t), []), { code: 0, stdout: '"yaml"' })
})
