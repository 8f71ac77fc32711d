import { ERROR_TABLE, type ErrorEntry } from '../src/protocols/errors/index.ts';
import { kernelSchema } from '../src/supervision/topology/kernel-schema.ts';
import { moduleSchema } from '../src/supervision/topology/module-schema.ts';
import { jsonSchemaOf, referenceOf } from '../src/supervision/topology/reference.ts';
import { topologySchema } from '../src/supervision/topology/topology-schema.ts';

const NOTE = '<!-- Made from the sources by `npm run docs`; edits here are overwritten. -->';

/** Every file that is made from the sources, by its path in the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const json = (schema: Parameters<typeof jsonSchemaOf>[0], title: string) =>
    `${JSON.stringify(jsonSchemaOf(schema, title), null, 2)}\n`;
  return new Map([
    ['config/kernel.schema.json', json(kernelSchema, 'Tapeworks: kernel.yaml')],
    ['config/topology.schema.json', json(topologySchema, 'Tapeworks: topology.yaml')],
    ['config/module.schema.json', json(moduleSchema, 'Tapeworks: modules.d/*.yaml')],
    ['docs/configuration.md', configurationPage()],
    ['docs/errors.md', errorsPage()],
  ]);
}

function configurationPage(): string {
  return [
    ...['# Configuration', '', NOTE, ''],
    'Three kinds of files in `config/` say what runs. Check them with `tapeworks validate`; see what a change would do',
    'with `tapeworks plan`; do it with `tapeworks apply`. A file that is wrong is refused as a whole, with every mistake',
    'by line and column, and changes nothing.',
    '',
    'Durations are a whole number and a unit: `500ms`, `5s`, `1m`, `24h`, `7d`. Sizes likewise: `512KiB`, `64MiB`, `1GB`.',
    'Rates are a count, a slash and a period: `5/s`, `300/5m`. Files are plain YAML of at most 256 KiB: no aliases, tags,',
    'directives or merge keys. `NAME` below stands for a name of your own.',
    '',
    ...['## kernel.yaml', '', 'Globals: ports, limits, servers and sinks.', '', referenceOf(kernelSchema), ''],
    ...['## topology.yaml', '', 'Threads, and what each plane is made of.', '', referenceOf(topologySchema), ''],
    ...[
      '## modules.d/*.yaml',
      '',
      'One file an external module. The kernel reads its streams and watches its heartbeats;',
    ],
    ...['it does not start or stop it.', '', referenceOf(moduleSchema), ''],
  ].join('\n');
}

function errorsPage(): string {
  const lines = ['# Errors', '', NOTE, '', 'Every coded error, what it means, and what to do about it.', ''];
  for (const [area, errors] of Object.entries(ERROR_TABLE)) {
    const rows = Object.entries(errors as Readonly<Record<string, ErrorEntry>>);
    if (rows.length === 0) continue;
    lines.push(`## ${area}`, '', '| code | means | remedy |', '|---|---|---|');
    for (const [code, { means, remedy }] of rows) lines.push(`| \`${code}\` | ${cell(means)} | ${cell(remedy)} |`);
    lines.push('');
  }
  return lines.join('\n');
}

const cell = (text: string) => text.replaceAll('|', '\\|');
