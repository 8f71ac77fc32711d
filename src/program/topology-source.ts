import type { TopologySource } from '../console/sources.ts';
import type { TopologyApplier } from '../supervision/topology/apply.ts';
import type { TopologyControl } from '../supervision/topology/control.ts';
import type { ConfigFiles } from '../supervision/topology/load.ts';

/** The running configuration as the dashboard shows, edits and applies it. */
export function topologySource(
  applier: TopologyApplier,
  control: TopologyControl,
  running: () => ConfigFiles,
): TopologySource {
  const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
  return {
    running: () => ({
      files: Object.fromEntries([...running()].map(([name, bytes]) => [name, textOf(bytes)])),
      digest: applier.current.digest,
    }),
    plan: (body) => control.plan(body),
    apply: (body) => control.apply(body),
  };
}
