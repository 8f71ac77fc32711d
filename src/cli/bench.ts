import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { didYouMean } from '../supervision/topology/nearest.ts';
import { readArguments, usage } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';

const FOLDER = fileURLToPath(new URL('../../bench', import.meta.url));

const OPTIONS = {
  yardstick: {
    type: 'string',
    value: 'BINARY',
    about: 'native program to measure beside, in the same run',
    offers: 'file',
  },
  json: { type: 'boolean', about: 'one JSON object a figure' },
} as const satisfies Options;

/** Parts of a benchmark have a dot or an end of their own in their names. */
const NAMES = (existsSync(FOLDER) ? readdirSync(FOLDER) : [])
  .map((file) => /^([a-z0-9-]+)\.js$/.exec(file)?.[1] ?? '')
  .filter((name) => name !== '' && !['main', 'harness'].includes(name) && !name.endsWith('-worker'));

export const command: Command = {
  summary: 'measure a part of the program, beside a reference in the same run',
  usage: ['NAME [--yardstick BINARY] [--json]'],
  about: `
Runs one of: ${NAMES.join(', ')}. Every figure stands beside a reference that was measured in the same run; docs/benchmarks.md says what each means. Leave the machine alone meanwhile.
`,
  options: OPTIONS,
  offers: NAMES,
  exits: { [EXIT.ok]: 'measured', [EXIT.failed]: 'it could not be measured here' },
  examples: ['tapeworks bench hotpath', 'tapeworks bench ingest --json | jq -r .ratio'],
  async run(args) {
    const { positionals } = readArguments(args, OPTIONS, 1);
    const [name] = positionals;
    if (name === undefined || !NAMES.includes(name)) {
      const known = `say what to measure: ${NAMES.join(', ')}`;
      const hint = name === undefined ? undefined : didYouMean(name, NAMES);
      throw usage(hint === undefined ? known : `${known}; ${hint}`);
    }
    // A process of its own: what this one has loaded would be measured along.
    const child = spawn(process.execPath, [`${FOLDER}/main.js`, ...args], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0 ? EXIT.ok : EXIT.failed;
  },
};
