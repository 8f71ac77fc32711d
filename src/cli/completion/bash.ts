import type { Offer } from '../command.ts';
import { type CompletedCommand, INSTRUMENTS_SED } from './table.ts';

/** A function for `complete -F`; needs nothing but bash itself. */
export function bashScript(commands: readonly CompletedCommand[], venues: readonly string[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  return `# Completion of tapeworks for bash:  source <(tapeworks completion bash)
_tapeworks_instruments() {
  local folder=config i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == --config ]] && folder=\${COMP_WORDS[i + 1]}
  done
  ${INSTRUMENTS_SED} "$folder/topology.yaml" 2>/dev/null
}

_tapeworks_reply() {
  local head=
  [[ $2 == list && $cur == *,* ]] && head=\${cur%,*},
  COMPREPLY=($(compgen -P "$head" -W "$1" -- "\${cur#"$head"}"))
}

_tapeworks() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]} action= i
  local venues='${venues.join(' ')}'
  COMPREPLY=()
  # bash takes --option=value apart at the equals sign.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then
    _tapeworks_reply '${names} help'
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} != -* ]] && { action=\${COMP_WORDS[i]}; break; }
  done
  case "$command $prev" in
${commands.flatMap(valueCases).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    case "$command $action" in
${commands.flatMap(optionCases).join('\n')}
    esac
    return
  fi
  case "$command $action" in
    'help ') _tapeworks_reply '${names}' ;;
${commands.flatMap(wordCases).join('\n')}
  esac
}

complete -o filenames -F _tapeworks tapeworks tapeworks.mjs
`;
}

function valueCases({ name, options }: CompletedCommand): string[] {
  return options
    .filter(({ value }) => value !== undefined)
    .map((option) => {
      const reply = replyFor(option.offers, option.isList);
      return `    '${name} --${option.name}') ${reply === '' ? '' : `${reply}; `}return ;;`;
    });
}

function optionCases({ name, options, actions }: CompletedCommand): string[] {
  const flags = (chosen: readonly string[]) => [...chosen, 'help'].map((option) => `--${option}`).join(' ');
  return [
    ...actions.map((action) => `      '${name} ${action.name}') _tapeworks_reply '${flags(action.options)}' ;;`),
    `      '${name} '*) _tapeworks_reply '${flags(options.map((option) => option.name))}' ;;`,
  ];
}

function wordCases({ name, actions, offers }: CompletedCommand): string[] {
  const behind = actions
    .filter((action) => action.offers !== undefined)
    .map((action) => `    '${name} ${action.name}') ${replyFor(action.offers, false)} ;;`);
  if (actions.length > 0) {
    return [...behind, `    '${name} ') _tapeworks_reply '${actions.map((action) => action.name).join(' ')}' ;;`];
  }
  return offers === undefined ? [] : [`    '${name} '*) ${replyFor(offers, false)} ;;`];
}

function replyFor(offers: Offer | undefined, isList: boolean): string {
  const list = isList ? ' list' : '';
  if (offers === undefined) return '';
  if (offers === 'file') return 'COMPREPLY=($(compgen -f -- "$cur"))';
  if (offers === 'folder') return 'COMPREPLY=($(compgen -d -- "$cur"))';
  if (offers === 'instrument') return `_tapeworks_reply "$(_tapeworks_instruments)"${list}`;
  if (offers === 'venue') return `_tapeworks_reply "$venues"${list}`;
  return `_tapeworks_reply '${offers.join(' ')}'${list}`;
}
