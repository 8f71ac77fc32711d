import { PLAN_ROUTE } from '../protocols/control-api.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { type PlanView, viewOf } from '../protocols/topology-plan.ts';
import { compileTopology } from '../supervision/topology/compile.ts';
import { planTopology } from '../supervision/topology/plan.ts';
import { renderPlan } from '../supervision/topology/render-plan.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT } from './command.ts';
import { CONFIG_FOLDER, readConfiguration, reportIssues } from './configuration.ts';
import { askControl, CONTROL_URL, requestFor } from './control-client.ts';

export const command: Command = {
  summary: 'show what a changed topology would start, stop, move or change',
  help: `
usage: tapeworks plan [NEW] [--config FOLDER] [--url URL] [--json]
       tapeworks plan OLD NEW [--config FOLDER] [--json]

With one path (config by default), compares it with what runs at --url, which needs control enabled and its token in
TAPEWORKS_TOKEN. With two, compares the two without asking anyone. A path is a folder, or a file that stands in for the
topology.yaml of --config. Nothing is changed.

  --url    address of the running system (${CONTROL_URL})
  --json   the plan as one JSON object

exit code: 0 no changes, 2 changes, 78 a file is wrong, 1 or 69 the running system did not say

  tapeworks plan
  tapeworks plan config/topology.yaml new-topology.yaml
`,
  async run(args) {
    const options = { json: { type: 'boolean' }, config: { type: 'string' }, url: { type: 'string' } } as const;
    const { values, positionals } = readArguments(args, options, 2);
    const { json = false, config = CONFIG_FOLDER, url = CONTROL_URL } = values;
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
  process.stdout.write(json ? `${JSON.stringify(plan)}\n` : renderPlan(plan, process.stdout.isTTY));
  return plan.steps.length === 0 ? EXIT.ok : EXIT.changes;
}
