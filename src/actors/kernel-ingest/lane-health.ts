import type { LaneHealth } from '../../protocols/ingest.ts';

/** What the parts of one stream's way say of themselves. */
export interface LaneEvidence {
  readonly sink: LaneHealth;
  readonly spill: { readonly records: number; readonly bytes: number; readonly maxBytes: number };
  /** Since when nothing flows straight to Postgres. */
  readonly spillingForMs: number | undefined;
  /** Why nothing can be read or acknowledged, in words. */
  readonly unread: string | undefined;
  /** Segments that lost records, and that nobody has looked at. */
  readonly damage: readonly string[];
  /** Redis was found without what it had, not long ago. */
  readonly reset: string | undefined;
  /** What is unsafe about Redis' settings. */
  readonly unsafe: readonly string[];
  readonly silentModules: readonly string[];
}

/** One verdict over all of them, with everything that a person needs who is woken up by it. */
export function laneHealth(evidence: LaneEvidence): LaneHealth {
  const { sink, spill, spillingForMs, unread, damage, reset, unsafe, silentModules } = evidence;
  const spilled = `${spill.records} events are in the spill, ${megabytes(spill.bytes)} of ${megabytes(spill.maxBytes)}`;
  const red = [
    ...(unread === undefined ? [] : [`Redis: ${unread}`]),
    ...damage.map((text) => `TW_SPILL_DAMAGED ${text} (tapeworks spill verify)`),
  ];
  const yellow = [
    ...(reset === undefined ? [] : [reset]),
    ...unsafe,
    ...silentModules.map((name) => `module ${name} is silent`),
  ];
  const reasons = [
    ...sink.reasons,
    ...(spillingForMs === undefined ? [] : [`${spilled}, for ${seconds(spillingForMs)}`]),
    ...red,
    ...yellow,
  ];
  if (sink.state === 'red' || red.length > 0) return { state: 'red', reasons };
  return { state: yellow.length > 0 ? 'yellow' : sink.state, reasons };
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

export const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
