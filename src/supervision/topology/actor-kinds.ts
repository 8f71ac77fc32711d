import type { ActorKind, SettingsOf } from '../../protocols/topology.ts';

/** The settings that an actor of each kind takes while it runs. A change to any other one restarts it. */
const TAKEN_LIVE: { readonly [K in ActorKind]: readonly (keyof SettingsOf[K])[] } = {
  system: ['logLevel', 'shutdown', 'apply'],
  supervisor: [],
  watchdog: ['stallAfterMs', 'deadAfterMs'],
  spill: ['maxBytes', 'minFreeBytes', 'whenFull', 'segmentBytes', 'segmentAgeMs'],
  sink: ['batchRows', 'batchBytes', 'batchTimeMs', 'contentionRetries', 'partitionsAhead', 'breaker'],
  'kernel-ingest': [
    ...(['modules', 'whenFull', 'whenFullByType', 'readCount', 'readBlockMs', 'inFlightMessages'] as const),
    ...(['inFlightBytes', 'claimIdleMs', 'claimEveryMs', 'poisonAfter', 'trimAfterMs', 'trimEveryMs'] as const),
  ],
  // Symbols are handed over between workers, so how many workers there are is no reason to start one anew.
  'partition-worker': ['symbols', 'graceMs', 'workers'],
  'kline-persistence': ['everyMs', 'pendingBars', 'repair', 'heal', 'clockSyncMs'],
  'symbol-manager': ['discovery', 'include', 'exclude', 'ackTimeoutMs', 'goneAfterMs', 'maxSymbols', 'workers'],
  merger: [],
  publisher: ['defaultSymbol', 'maxSubscribers', 'maxSymbols', 'cutSlowAfterMs', 'tokenFile'],
  console: ['allowedHosts', 'metrics', 'maxDashboards', 'maxBodyBytes', 'tokenFile'],
  exchange: ['symbols', 'trades', 'staleAfterMs', 'handshakeTimeoutMs', 'rotateAfterMs', 'restWeight', 'reconnect'],
};

/** Whether an actor of this kind takes a change of `key` (such as `settings.depth`) without starting anew. */
export function isTakenLive(kind: ActorKind, key: string): boolean {
  const [group, name] = key.split('.');
  // The supervisor above holds these; only a mailbox is made once for the life of an actor.
  if (group === 'supervision') return kind === 'supervisor' || kind === 'system' || name !== 'mailbox';
  return group === 'settings' && (TAKEN_LIVE[kind] as readonly string[]).includes(name ?? '');
}

/** Kinds whose actors hand their work to one another: a new one starts before, and an old one stops after, the rest. */
export function handsOver(kind: ActorKind): boolean {
  return kind === 'partition-worker';
}
