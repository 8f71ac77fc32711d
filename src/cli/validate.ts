import { compileTopology } from '../supervision/topology/compile.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT } from './command.ts';
import { CONFIG_FOLDER, readConfiguration, reportIssues } from './configuration.ts';

export const command: Command = {
  summary: 'check the configuration files',
  help: `
usage: tapeworks validate [FOLDER | TOPOLOGY_FILE] [--config FOLDER] [--json]

Checks kernel.yaml, topology.yaml and modules.d/*.yaml of a folder (config by default) and prints every mistake with its
line and column. A file in place of the folder is checked as the topology.yaml of --config. Nothing is changed.

  --json   one JSON object: {"ok":true,"actors":22,"threads":[...]} or {"ok":false,"issues":[...]}

exit code: 0 right, 78 wrong

  tapeworks validate
  tapeworks validate /etc/tapeworks --json
`,
  async run(args) {
    const options = { json: { type: 'boolean' }, config: { type: 'string' } } as const;
    const { values, positionals } = readArguments(args, options, 1);
    const { json = false, config = CONFIG_FOLDER } = values;
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
