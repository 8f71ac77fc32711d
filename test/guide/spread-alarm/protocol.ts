import type { Ref } from '../../../src/protocols/ref.ts';

/** What anyone may tell the alarm. */
export type SpreadAlarmCommand =
  | { readonly kind: 'spread'; readonly symbol: string; readonly basisPoints: number }
  | { readonly kind: 'status'; readonly replyTo: Ref<SpreadStatus> };

/** The symbols whose spread has been too wide for too long. */
export interface SpreadStatus {
  readonly wide: readonly string[];
}

/** What the alarm tells whoever is on duty. */
export type DutyMessage = { readonly kind: 'too-wide' | 'normal-again'; readonly symbol: string };
