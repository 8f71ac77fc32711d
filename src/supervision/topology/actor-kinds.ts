import type { ActorKind, SettingsOf } from '../../protocols/topology.ts';

/** The settings that an actor of each kind takes while it runs. A change to any other one restarts it. */
const TAKEN_LIVE: { readonly [K in ActorKind]?: readonly (keyof SettingsOf[K])[] } = {
  system: ['logLevel', 'apply'],
  watchdog: ['stallAfterMs', 'deadAfterMs'],
  // Symbols are handed over between workers, so how many workers there are is no reason to start one anew.
  'partition-worker': ['symbols', 'graceMs', 'workers'],
  'symbol-manager': ['include', 'exclude', 'ackTimeoutMs', 'goneAfterMs', 'maxSymbols', 'workers', 'heal'],
  publisher: ['defaultSymbol', 'maxSubscribers', 'maxSymbols', 'cutSlowAfterMs', 'tokenFile'],
  exchange: ['symbols', 'trades', 'staleAfterMs', 'handshakeTimeoutMs', 'rotateAfterMs', 'reconnect'],
};

/** Whether an actor of this kind takes a change of `key` (such as `settings.depth`) without starting anew. */
export function isTakenLive(kind: ActorKind, key: string): boolean {
  const [group, name = ''] = key.split('.');
  const isMadeOnce = name === 'mailbox' || name === 'shutdownMs';
  // The supervisor above holds these; only what an actor is made with stays with it for its life.
  if (group === 'supervision') return kind === 'supervisor' || kind === 'system' || !isMadeOnce;
  return group === 'settings' && ((TAKEN_LIVE[kind] ?? []) as readonly string[]).includes(name);
}

/** Kinds whose actors hand their work to one another: a new one starts before, and an old one stops after, the rest. */
export function handsOver(kind: ActorKind): boolean {
  return kind === 'partition-worker';
}
