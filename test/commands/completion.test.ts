// The script that completes commands in a shell.
import { execFileSync, spawnSync } from 'node:child_process'
import { Command, Option } from '@commander-js/extra-typings'
import t from 'tap'
import { completionCommand } from '../../src/commands/completion.js'
import { loadCommand } from '../../src/commands/load.js'
import { organisationsCommand } from '../../src/commands/organisations.js'
import { PROGRAM } from '../../src/commands/run-command.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'

/** What each shell does around the function of the script: it gives the words, and shows the offers and whether files. */
const shells = {
  bash: `default=files; compopt() { default=; }; COMP_WORDS=("$0" "$@"); COMP_CWORD=$#
    completed() { _field_data_api; echo "$default" "\${COMPREPLY[@]}"; }`,
  zsh: `words=("$0" "$@"); CURRENT=$#words; PREFIX=$words[-1]; completed() { echo $(_field_data_api); }; _files() { echo files; }
    compset() { [[ $PREFIX = --*=* ]] && IPREFIX=\${PREFIX%%=*}= && PREFIX=\${PREFIX#*=}; }
    compadd() { shift; for offer; do [[ $offer = $PREFIX* ]] && echo $offer; done; }; compdef() { }`,
}

for (const [shell, around] of Object.entries(shells)) {
  const skip = spawnSync(shell, ['-c', '']).error !== undefined
  t.test(`${shell} completes commands, options, their values and files (needs ${shell})`, { skip }, async (t) => {
    const { code, stdout } = await tryCommand(
      (session) => {
        const program = new Command(PROGRAM)
          .addOption(new Option('--level <L>').choices(['low', 'high']))
          .option('--config <FILE>')
        for (const make of [loadCommand, organisationsCommand, completionCommand]) program.addCommand(make(session))
        return program
      },
      testStore(t),
      ['completion'],
    )
    t.equal(code, 0)
    const run = (commands: string, words: readonly string[]) =>
      execFileSync(shell, ['-uc', `${around}\n${stdout}\n${commands}`, PROGRAM, ...words], { encoding: 'utf8' }).trim()
    /** What is offered for the last word. */
    const completed = (...words: string[]) => run('completed', words)
    t.equal(completed(''), 'load organisations completion --level --config --help')
    t.equal(completed('lo'), 'load')
    t.equal(completed('organisations', ''), 'add list --help')
    t.equal(completed('organisations', 'add', '--'), '--name --id --json --help')
    t.equal(completed('organisations', 'add', '--name', 'load', '--i'), '--id', 'a value is no command')
    t.equal(completed('organisations', 'add', '--name', ''), '', 'any value')
    t.equal(completed('organisations', 'add', '--json', ''), '--name --id --json --help', 'no value is due')
    t.equal(completed('load', ''), 'files')
    t.equal(completed('load', 'en'), 'files')
    t.equal(completed('load', '--u'), '--upsert')
    t.equal(completed('load', '--organisation', ''), '')
    t.equal(completed('load', '--collection', 'e'), 'entries')
    t.equal(completed('--config', ''), 'files')
    t.equal(completed('--level', ''), 'low high')
    const equals = shell === 'bash' ? ['--level', '='] : ['--level=']
    t.equal(completed(...equals), 'low high')
    t.equal(completed(...(shell === 'bash' ? ['--level', '=', 'h'] : ['--level=h'])), 'high')
    t.equal(run(`npx() { echo "npx $*"; }; ${PROGRAM} load`, []), `npx --no ${PROGRAM} load`, 'without an installation')
  })
}
