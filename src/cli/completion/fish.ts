import type { Offer } from '../command.ts';
import { type CompletedCommand, type CompletedOption, INSTRUMENTS_SED } from './table.ts';

/** One `complete` a word; fish shows the descriptions. */
export function fishScript(commands: readonly CompletedCommand[], venues: readonly string[]): string {
  const first = '__fish_use_subcommand';
  const lines = commands.flatMap(({ name, summary, options, actions, offers }) => {
    const seen = `__fish_seen_subcommand_from ${name}`;
    const names = actions.map((action) => action.name).join(' ');
    return [
      `complete -c tapeworks -n ${first} -a ${name} -d ${quoted(summary)}`,
      ...(names === ''
        ? offers === undefined
          ? []
          : [`complete -c tapeworks -n ${quoted(seen)} ${offered(offers, venues)}`]
        : [
            `complete -c tapeworks -n ${quoted(`${seen}; and not __fish_seen_subcommand_from ${names}`)} -a ${quoted(names)}`,
          ]),
      ...options.map((option) => optionLine(option, `${seen}${conditionOf(option.name, actions)}`, venues)),
    ];
  });
  return `# Completion of tapeworks for fish:  tapeworks completion fish | source
function __tapeworks_instruments
    ${INSTRUMENTS_SED} config/topology.yaml 2>/dev/null
end

complete -c tapeworks -f
complete -c tapeworks -n ${first} -a help -d 'show options, exit codes and examples of a command'
complete -c tapeworks -n '__fish_seen_subcommand_from help' -a ${quoted(commands.map(({ name }) => name).join(' '))}
${lines.join('\n')}
`;
}

function optionLine(
  { name, about, value, offers }: CompletedOption,
  condition: string,
  venues: readonly string[],
): string {
  const taken = value === undefined ? '' : offers === undefined ? ' -x' : ` -r ${offered(offers, venues)}`;
  return `complete -c tapeworks -n ${quoted(condition)} -l ${name}${taken} -d ${quoted(about)}`;
}

/** An option of some actions is offered behind those alone. */
function conditionOf(option: string, actions: CompletedCommand['actions']): string {
  const having = actions.filter(({ options }) => options.includes(option)).map((action) => action.name);
  return having.length === actions.length ? '' : `; and __fish_seen_subcommand_from ${having.join(' ')}`;
}

function offered(offers: Offer, venues: readonly string[]): string {
  if (offers === 'file') return '-F';
  if (offers === 'folder') return "-a '(__fish_complete_directories)'";
  if (offers === 'instrument') return "-a '(__tapeworks_instruments)'";
  return `-a ${quoted((offers === 'venue' ? venues : offers).join(' '))}`;
}

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
