import { createInterface } from 'node:readline/promises';
import { APPLY_ROUTE, PLAN_ROUTE, type TopologyReply } from '../protocols/control-api.ts';
import { renderPlan } from '../supervision/topology/render-plan.ts';
import { consoleUrl, URL_OPTION } from './addresses.ts';
import { readArguments, usage } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { CONFIG_OPTION, readConfiguration, reportIssues } from './configuration.ts';
import { askControl, requestFor } from './control-client.ts';
import { takesColour } from './terminal.ts';

const OPTIONS = {
  yes: { type: 'boolean', about: 'do not ask; needed where there is no terminal' },
  config: CONFIG_OPTION,
  url: URL_OPTION,
  json: { type: 'boolean', about: 'the outcome as one JSON object; needs --yes' },
} as const satisfies Options;

export const command: Command = {
  summary: 'change the running topology, or roll back',
  usage: ['[NEW] [--yes] [--config FOLDER] [--url URL] [--json]'],
  about: `
Shows the plan, asks, and has the running system carry it out. If a step fails, or by the deadline in its kernel.yaml the system is not healthy or a venue that was changed does not send, everything is put back as it was. Needs control enabled and its token in TAPEWORKS_TOKEN.
`,
  options: OPTIONS,
  offers: 'file',
  exits: {
    [EXIT.ok]: 'applied, or nothing to do',
    [EXIT.failed]: 'refused, declined or rolled back',
    [EXIT.unavailable]: 'nobody answers',
    [EXIT.config]: 'a file is wrong',
  },
  examples: ['tapeworks apply', 'TAPEWORKS_TOKEN=$(cat secrets/token) tapeworks apply /etc/tapeworks --yes --json'],
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, 1);
    const { json = false, yes = false, config } = values;
    const url = await consoleUrl(values.url);
    const asks = process.stdin.isTTY && process.stdout.isTTY && !json;
    if (!yes && !asks) throw usage('there is nobody to ask: say --yes');
    const desired = await readConfiguration(positionals[0] ?? config, config);
    if (!desired.ok) return reportIssues(desired.issues, json);
    const request = requestFor(desired.value.files);
    const planned = await askControl(url, PLAN_ROUTE, request);
    if (planned.kind !== 'planned') return showOutcome(planned, json);
    if (!json) process.stdout.write(renderPlan(planned.plan, takesColour(process.stdout)));
    if (planned.plan.steps.length === 0) return json ? showOutcome({ ...planned, kind: 'applied' }, json) : EXIT.ok;
    if (!yes && !(await isAgreed())) return EXIT.failed;
    if (!json) process.stdout.write('applying; waiting until the system is healthy ...\n');
    return showOutcome(await askControl(url, APPLY_ROUTE, { ...request, expectedFrom: planned.plan.from }), json);
  },
};

async function isAgreed(): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question('Apply this? [y/N] ')).trim());
  } finally {
    terminal.close();
  }
}

function showOutcome(reply: TopologyReply, json: boolean): number {
  if (reply.kind === 'invalid') return reportIssues(reply.issues, json);
  if (json) process.stdout.write(`${JSON.stringify(reply)}\n`);
  else if (reply.kind === 'applied') process.stdout.write('Applied.\n');
  else process.stderr.write(`${failureText(reply)}\n`);
  return reply.kind === 'applied' ? EXIT.ok : EXIT.failed;
}

function failureText(reply: Exclude<TopologyReply, { kind: 'invalid' | 'applied' }>): string {
  if (reply.kind === 'planned') return 'TW_CONTROL_PROTOCOL: the system sent a plan in place of an outcome.';
  if (reply.kind === 'error') return `${reply.code}: ${reply.message}`;
  if (reply.kind === 'refused') return `${reply.code}: ${reply.reason}. Nothing was changed.`;
  const lines = [`${reply.code}: ${reply.reason}.`, ...reply.undone.map((step) => `  undone by: ${step}`)];
  return [...lines, ...reply.astray.map((path) => `  not as it was: ${path}`)].join('\n');
}
