// The command `completion`: prints a script by which the shell completes commands, options and their values. The script has
// all of these in it, so that completing starts no process.
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { action, commandsIn, type MakeCommand, PROGRAM, print } from './run-command.js'

const details = `
The script is for bash and zsh, and completes the command ${PROGRAM}, which is there after
npm install --global. To complete in every shell, add this line to ~/.bashrc or ~/.zshrc:

  source <(${PROGRAM} completion)`

export const completionCommand: MakeCommand = ({ out }) => {
  const command = action('completion', 'Print a script that completes in bash and zsh', 'completion >completion.sh')
  return command
    .addHelpText('after', details)
    .action(() => print(out, ...scriptOf(command.parent as CommandUnknownOpts).split('\n')))
}

/** The words that lead to a command, without the name of the program. */
const pathOf = (command: CommandUnknownOpts): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`

const scriptOf = (program: CommandUnknownOpts): string => {
  const commands = commandsIn(program)
  const words = commands.map((command) => {
    const { options } = command
    const names = [...command.commands.map((each) => each.name()), ...options.map(({ long }) => long), '--help']
    return `    '${pathOf(command)}') offers='${names.join(' ')}' ;;`
  })
  const values = commands.flatMap((command) =>
    command.options
      .filter(({ argChoices }) => argChoices !== undefined)
      .map(({ long, argChoices }) => `    '${pathOf(command)} ${long}') offers='${argChoices?.join(' ')}' ;;`),
  )
  const paths = commands.slice(1).map((command) => `'${pathOf(command)}'`)
  return `if [ -n "\${ZSH_VERSION-}" ]; then autoload -U +X compinit bashcompinit && compinit && bashcompinit; fi
_field_data_api() {
  local word command= offers=
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$command $word" in
    ${paths.join(' | ')}) command="$command $word" ;;
    esac
  done
  case "$command" in
${words.join('\n')}
  esac
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _field_data_api ${PROGRAM}`
}
