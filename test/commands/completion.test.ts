// The script that completes commands in a shell.
import { execFileSync } from 'node:child_process'
import { Command, Option } from '@commander-js/extra-typings'
import t from 'tap'
import { completionCommand } from '../../src/commands/completion.js'
import { loadCommand } from '../../src/commands/load.js'
import { organisationsCommand } from '../../src/commands/organisations.js'
import { PROGRAM } from '../../src/commands/run-command.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'

t.test('bash completes commands, options and their values', async (t) => {
  const { code, stdout } = await tryCommand(
    (session) => {
      const program = new Command(PROGRAM).addOption(new Option('--level <L>').choices(['low', 'high']))
      for (const make of [loadCommand, organisationsCommand, completionCommand]) program.addCommand(make(session))
      return program
    },
    testStore(t),
    ['completion'],
  )
  t.equal(code, 0)
  /** What bash offers for the last word. */
  const completed = (...words: string[]) => {
    const line = `COMP_WORDS=("$0" "$@"); COMP_CWORD=$#; _field_data_api; echo "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-uc', `${stdout}\n${line}`, PROGRAM, ...words], {
      encoding: 'utf8',
    }).trim()
  }
  t.equal(completed(''), 'load organisations completion --level --help')
  t.equal(completed('lo'), 'load')
  t.equal(completed('organisations', ''), 'add list --help')
  t.equal(completed('organisations', 'add', '--'), '--name --id --json --help')
  t.equal(completed('organisations', 'add', '--name', 'load', '--i'), '--id', 'a value is no command')
  t.equal(completed('load', '--collection', 'e'), 'entries')
  t.equal(completed('load', 'en'), '', 'bash then offers files')
  t.equal(completed('--level', ''), 'low high')
})
