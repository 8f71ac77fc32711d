import type { TopologySource } from '../console/sources.ts';
import type * as api from '../protocols/console-api.ts';
import type { TopologyReply } from '../protocols/control-api.ts';
import type { TopologyApplier } from '../supervision/topology/apply.ts';
import type { TopologyControl } from '../supervision/topology/control.ts';
import { type ConfigFiles, TOPOLOGY_FILE } from '../supervision/topology/load.ts';

/** The topology file as the dashboard edits it: one file of the running configuration, the others as they are. */
export function topologySource(
  applier: TopologyApplier,
  control: TopologyControl,
  running: () => ConfigFiles,
  shown: string,
): TopologySource {
  const textOf = (files: ConfigFiles, name: string) => Buffer.from(files.get(name) ?? []).toString('utf8');
  const request = (yaml: string, expectedFrom?: string) => ({
    files: {
      ...Object.fromEntries([...running().keys()].map((name) => [name, textOf(running(), name)])),
      [TOPOLOGY_FILE]: yaml,
    },
    ...(expectedFrom !== undefined && { expectedFrom }),
  });
  return {
    running: () => ({ file: shown, yaml: textOf(running(), TOPOLOGY_FILE), digest: applier.current.digest }),
    validate(yaml) {
      const reply = control.plan(request(yaml));
      return { issues: reply.kind === 'invalid' ? reply.issues : [] };
    },
    plan(yaml) {
      const reply = control.plan(request(yaml));
      if (reply.kind === 'planned') return { ok: true, plan: reply.plan };
      return { ok: false, issues: reply.kind === 'invalid' ? reply.issues : [] };
    },
    apply: async (yaml, from) => answerOf(await control.apply(request(yaml, from))),
  };
}

function answerOf(reply: TopologyReply): api.ApplyAnswer {
  switch (reply.kind) {
    case 'applied':
    case 'planned':
      return { outcome: 'applied', code: null, reason: '', issues: [] };
    case 'invalid':
      return {
        outcome: 'invalid',
        code: 'TW_CONFIG_INVALID',
        reason: 'the topology is not valid',
        issues: reply.issues,
      };
    case 'error':
      return { outcome: 'invalid', code: reply.code, reason: reply.message, issues: [] };
    default:
      return { outcome: reply.kind, code: reply.code, reason: reply.reason, issues: [] };
  }
}
