// The command `completion`: prints a script by which the shell completes commands, options and their values. The script has
// all of these in it, so that completing starts no process.
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { commandsIn, type MakeCommand, newCommand, PROGRAM, print } from './run-command.js'

const details = `
To complete in every shell after npm install --global, paste one of these lines:

  bash  echo 'eval "$(${PROGRAM} completion)"' >>~/.bashrc
  zsh   echo 'eval "$(${PROGRAM} completion)"' >>~/.zshrc

Without --global, paste this line in a clone, or in a folder where the package is installed. It is for one shell, in which
${PROGRAM} then stands for npx ${PROGRAM}:

  eval "$(npx ${PROGRAM} completion)"`

export const completionCommand: MakeCommand = ({ out }) => {
  const command = newCommand(
    'completion',
    'Print a script that completes in bash and zsh',
    'completion >completion.sh',
    details,
  )
  return command.action(() => print(out, ...scriptOf(command.parent as CommandUnknownOpts).split('\n')))
}

/** The words that lead to a command, without the name of the program. */
const pathOf = (command: CommandUnknownOpts): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`

/** Whether an argument or the value of an option is a path, as in `<FILE.ndjson>`. */
const isPath = (name: string): boolean => /\b(FILE|FOLDER)\b/.test(name)

const scriptOf = (program: CommandUnknownOpts): string => {
  const commands = commandsIn(program)
  const words = commands.map((command) => {
    const names = [...command.commands.map((each) => each.name()), ...command.options.map(({ long }) => long), '--help']
    const files = command.registeredArguments.some((argument) => isPath(argument.name())) ? ' files=1' : ''
    return `    '${pathOf(command)}') offers='${names.join(' ')}'${files} ;;`
  })
  const values = commands.flatMap((command) =>
    command.options
      .filter(({ required }) => required)
      .map(({ long, flags, argChoices = [] }) => {
        const files = isPath(flags) ? '1' : ''
        return `    '${pathOf(command)} ${long}') offers='${argChoices.join(' ')}' files=${files} ;;`
      }),
  )
  const paths = commands.slice(1).map((command) => `'${pathOf(command)}'`)
  return `command -v ${PROGRAM} >/dev/null || ${PROGRAM}() { npx --no ${PROGRAM} "$@"; }

# Sets what may stand in place of the word $1 after the words that follow it: offers, or any of the files.
_field_data_api_offers() {
  local current=$1 word last= command=
  shift
  for word in "$@"; do
    case "$command $word" in
    ${paths.join(' | ')}) command="$command $word" ;;
    esac
    # bash takes --option=value for three words.
    [ "$word" = '=' ] || last=$word
  done
  offers= files=
  case "$command" in
${words.join('\n')}
  esac
  case "$files$current" in
    1-*) files= ;;
    1*) offers= ;;
  esac
  case "$command $last" in
${values.join('\n')}
  esac
}

if [ -n "\${ZSH_VERSION-}" ]; then
  _field_data_api() {
    local offers files
    local -a before
    before=("\${words[@]:1:$((CURRENT - 2))}")
    compset -P '--*=' && before+=("\${IPREFIX%=}")
    _field_data_api_offers "$PREFIX" "\${before[@]}"
    if [ -n "$files" ]; then _files; else compadd -- \${=offers}; fi
  }
  command -v compdef >/dev/null || { autoload -U compinit && compinit; }
  compdef _field_data_api ${PROGRAM}
else
  _field_data_api() {
    local offers files current=\${COMP_WORDS[COMP_CWORD]#=}
    _field_data_api_offers "$current" "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"
    # Without a match bash completes files. An old bash has no compopt, and does so always.
    [ -n "$files" ] || compopt +o default 2>/dev/null
    COMPREPLY=($(compgen -W "$offers" -- "$current"))
  }
  complete -o default -F _field_data_api ${PROGRAM}
fi`
}
