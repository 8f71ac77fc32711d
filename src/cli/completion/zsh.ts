import type { Offer } from '../command.ts';
import { type CompletedCommand, type CompletedOption, INSTRUMENTS_SED } from './table.ts';

/** Works from a file named _tapeworks on the fpath, and by `source <(tapeworks completion zsh)` after compinit. */
export function zshScript(commands: readonly CompletedCommand[], venues: readonly string[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`);
  return `#compdef tapeworks
# Completion of tapeworks for zsh:  source <(tapeworks completion zsh)
_tapeworks_instruments() {
  local -a names
  names=(\${(f)"$(${INSTRUMENTS_SED} config/topology.yaml 2>/dev/null)"})
  _values -s , instrument $names
}

_tapeworks() {
  local curcontext="$curcontext" state line
  local -A opt_args
  local -a commands=(
${described.join('\n')}
    ${quoted('help:show options, exit codes and examples of a command')}
  )
  _arguments -C '1:command:->command' '*::argument:->argument'
  if [[ $state == command ]]; then
    _describe command commands
    return
  fi
  case $words[1] in
    help) _describe command commands ;;
${commands.map((command) => caseOf(command, venues)).join('\n')}
  esac
}

if [[ $funcstack[1] == _tapeworks ]]; then _tapeworks "$@"; else compdef _tapeworks tapeworks; fi
`;
}

function caseOf({ name, options, actions, offers }: CompletedCommand, venues: readonly string[]): string {
  const words =
    actions.length > 0
      ? [quoted(`1:action:(${actions.map((action) => action.name).join(' ')})`), quoted('*:word:_files')]
      : offers === undefined
        ? []
        : [quoted(`*:word:${actionFor(offers, false, venues)}`)];
  const specs = [...words, ...options.map((option) => quoted(specOf(option, venues))), quoted('--help[show help]')];
  return `    ${name})\n      _arguments \\\n${specs.map((spec) => `        ${spec}`).join(' \\\n')}\n      ;;`;
}

function specOf({ name, about, value, offers, isList }: CompletedOption, venues: readonly string[]): string {
  const text = about.replace(/[[\]]/g, '').replaceAll(':', '\\:');
  return value === undefined
    ? `--${name}[${text}]`
    : `--${name}=[${text}]:${value.replaceAll(':', ' ')}:${actionFor(offers, isList, venues)}`;
}

function actionFor(offers: Offer | undefined, isList: boolean, venues: readonly string[]): string {
  if (offers === undefined) return ' ';
  if (offers === 'file') return '_files';
  if (offers === 'folder') return '_files -/';
  if (offers === 'instrument') return '_tapeworks_instruments';
  const names = (offers === 'venue' ? venues : offers).join(' ');
  return isList ? `_values -s , name ${names}` : `(${names})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
