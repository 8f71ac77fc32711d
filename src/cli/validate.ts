import { compileTopology } from '../supervision/topology/compile.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT, JSON_OPTION, type Options } from './command.ts';
import { CONFIG_FOLDER, CONFIG_OPTION, readConfiguration, reportIssues } from './configuration.ts';

const OPTIONS = { config: CONFIG_OPTION, json: JSON_OPTION } as const satisfies Options;

export const command: Command = {
  summary: 'check the configuration files',
  usage: ['[FOLDER | TOPOLOGY_FILE] [--config FOLDER] [--json]'],
  about: `
Checks kernel.yaml, topology.yaml and modules.d/*.yaml of a folder (${CONFIG_FOLDER} unless given) and prints every mistake with its line and column. A file in place of the folder is checked as the topology.yaml of --config. Nothing is changed.
`,
  options: OPTIONS,
  offers: 'file',
  notes: 'With --json: {"ok":true,"actors":22,"threads":[...]} or {"ok":false,"issues":[...]}',
  exits: { [EXIT.ok]: 'right', [EXIT.config]: 'wrong' },
  examples: ['tapeworks validate', 'tapeworks validate my-topology.yaml', 'tapeworks validate /etc/tapeworks --json'],
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, 1);
    const { json = false, config } = values;
    const path = positionals[0] ?? config;
    const read = await readConfiguration(path, config);
    if (!read.ok) return reportIssues(read.issues, json);
    const { nodes } = compileTopology(read.value.config);
    const threads = [...new Set(nodes.map((node) => node.placement.thread))];
    const text = json
      ? JSON.stringify({ ok: true, actors: nodes.length, threads })
      : `${path} is right: ${nodes.length} actors on ${threads.length} threads (${threads.join(', ')})`;
    process.stdout.write(`${text}\n`);
    return EXIT.ok;
  },
};
