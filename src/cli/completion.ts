import { VENUES } from '../venues/index.ts';
import { readArguments, usage } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { loadCommands } from './commands.ts';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { completedCommands } from './completion/table.ts';
import { zshScript } from './completion/zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

const OPTIONS = {
  json: { type: 'boolean', about: 'commands, actions and options as one JSON array, for another shell' },
} as const satisfies Options;

export const command: Command = {
  summary: 'print a script that completes commands in bash, zsh or fish',
  usage: [`${SHELLS.join(' | ')}`, '--json'],
  about: `
Prints a script that makes the shell complete commands, actions, options, files and the instruments of config/topology.yaml. It completes the word \`tapeworks\`; where that is not on the PATH, define it: alias tapeworks="npx tapeworks".
`,
  options: OPTIONS,
  offers: SHELLS,
  exits: { [EXIT.ok]: 'printed' },
  examples: [
    'source <(tapeworks completion bash)',
    'tapeworks completion bash > ~/.local/share/bash-completion/completions/tapeworks',
    'tapeworks completion zsh > ~/.zfunc/_tapeworks    # a folder on the fpath',
    'tapeworks completion fish > ~/.config/fish/completions/tapeworks.fish',
  ],
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, 1);
    const commands = completedCommands(await loadCommands());
    const shell = SHELLS.find((name) => name === positionals[0]);
    if (values.json === true) process.stdout.write(`${JSON.stringify(commands)}\n`);
    else if (shell === undefined) throw usage(`say for which shell: ${SHELLS.join(', ')}`);
    else
      process.stdout.write(
        SCRIPTS[shell](
          commands,
          VENUES.map(({ facts }) => facts.id),
        ),
      );
    return EXIT.ok;
  },
};
