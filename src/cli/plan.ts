import { PLAN_ROUTE } from '../protocols/control-api.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { type PlanView, viewOf } from '../protocols/topology-plan.ts';
import { compileTopology } from '../supervision/topology/compile.ts';
import { planTopology } from '../supervision/topology/plan.ts';
import { renderPlan } from '../supervision/topology/render-plan.ts';
import { consoleUrl, URL_OPTION } from './addresses.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT, JSON_OPTION, type Options } from './command.ts';
import { CONFIG_FOLDER, CONFIG_OPTION, readConfiguration, reportIssues } from './configuration.ts';
import { askControl, requestFor } from './control-client.ts';
import { takesColour } from './terminal.ts';

const OPTIONS = { config: CONFIG_OPTION, url: URL_OPTION, json: JSON_OPTION } as const satisfies Options;

export const command: Command = {
  summary: 'show what a changed topology would start, stop, move or change',
  usage: ['[NEW] [--config FOLDER] [--url URL] [--json]', 'OLD NEW [--config FOLDER] [--json]'],
  about: `
With one path (${CONFIG_FOLDER} unless given), compares it with what runs at --url, which needs control enabled and its token in TAPEWORKS_TOKEN. With two, compares the two without asking anyone. A path is a folder, or a file that stands in for the topology.yaml of --config. Nothing is changed.
`,
  options: OPTIONS,
  offers: 'file',
  exits: {
    [EXIT.ok]: 'no changes',
    [EXIT.failed]: 'the running system refused to say',
    [EXIT.changes]: 'changes',
    [EXIT.unavailable]: 'nobody answers',
    [EXIT.config]: 'a file is wrong',
  },
  examples: ['tapeworks plan', 'tapeworks plan config/topology.yaml my-topology.yaml'],
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, 2);
    const { json = false, config } = values;
    const url = await consoleUrl(values.url);
    const [first = config, second] = positionals;
    const desired = await readConfiguration(second ?? first, config);
    if (!desired.ok) return reportIssues(desired.issues, json);
    if (second === undefined) {
      const reply = await askControl(url, PLAN_ROUTE, requestFor(desired.value.files));
      if (reply.kind === 'invalid') return reportIssues(reply.issues, json);
      if (reply.kind !== 'planned') throw new TapeworksError('TW_CONTROL_PROTOCOL', `${url} answered "${reply.kind}"`);
      return showPlan(reply.plan, json);
    }
    const current = await readConfiguration(first, config);
    if (!current.ok) return reportIssues(current.issues, json);
    const plan = planTopology(compileTopology(current.value.config), compileTopology(desired.value.config));
    return showPlan(viewOf(plan), json);
  },
};

function showPlan(plan: PlanView, json: boolean): number {
  process.stdout.write(json ? `${JSON.stringify(plan)}\n` : renderPlan(plan, takesColour(process.stdout)));
  return plan.steps.length === 0 ? EXIT.ok : EXIT.changes;
}
