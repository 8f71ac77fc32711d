// Pure: a message and a state go in, a state and wishes come out. No clock, no ref, no runtime.
//
//   normal --wider than the limit--> watching --still so after patienceMs--> alarmed
//      ^---------------------- back within the limit ----------------------------'
import type { SpreadAlarmCommand } from './protocol.ts';

export type SpreadAlarmMessage =
  | Exclude<SpreadAlarmCommand, { readonly kind: 'status' }>
  /** Private: the timer's message. */
  | { readonly kind: 'patience-over'; readonly symbol: string };

export type SymbolState = 'watching' | 'alarmed';
export type SpreadAlarmState = ReadonlyMap<string, SymbolState>;

export type Wish =
  | { readonly kind: 'wait'; readonly symbol: string }
  | { readonly kind: 'stop-waiting'; readonly symbol: string }
  | { readonly kind: 'report'; readonly what: 'too-wide' | 'normal-again'; readonly symbol: string };

export function receive(
  state: SpreadAlarmState,
  message: SpreadAlarmMessage,
  limitBasisPoints: number,
): [SpreadAlarmState, readonly Wish[]] {
  const { symbol } = message;
  const before = state.get(symbol);
  if (message.kind === 'patience-over') {
    return [new Map(state).set(symbol, 'alarmed'), [{ kind: 'report', what: 'too-wide', symbol }]];
  }
  const isWide = message.basisPoints > limitBasisPoints;
  if (isWide === (before !== undefined)) return [state, []];
  if (isWide) return [new Map(state).set(symbol, 'watching'), [{ kind: 'wait', symbol }]];
  const after = new Map(state);
  after.delete(symbol);
  if (before === 'watching') return [after, [{ kind: 'stop-waiting', symbol }]];
  return [after, [{ kind: 'report', what: 'normal-again', symbol }]];
}
