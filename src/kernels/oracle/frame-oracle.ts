// What a frame means, said plainly: the decode kernels must answer the same for every input.
import { fixedPoint, integerOf, placesOf, Refusal, textOf } from './decimal.ts';
import { fieldOf, hasEscapedKey, type Json, nestingOf, parseLossless, stringOf } from './lossless-json.ts';

export interface OracleContext {
  readonly depth: number;
  readonly routes: ReadonlyMap<string, { readonly route: number; readonly decimals: number }>;
  /** What a frame that names no stream belongs to. */
  readonly fallback: { readonly route: number; readonly decimals: number };
}

export type Level = readonly [price: bigint, amount: bigint];
export type Change = readonly [side: 'bid' | 'ask', price: bigint, amount: bigint, pricePlaces: number, places: number];

export interface OracleTrade {
  readonly route: number;
  readonly takerBuy: boolean;
  readonly timeUs: bigint;
  readonly price: bigint;
  readonly amount: bigint;
  readonly firstId: bigint;
  readonly lastId: bigint;
  readonly sequence: bigint;
}

export interface OracleDelta {
  readonly route: number;
  readonly snapshot: boolean;
  readonly checksum: bigint | undefined;
  readonly first: bigint;
  readonly last: bigint;
  readonly timeUs: bigint;
  readonly changes: readonly Change[];
}

export type OracleAnswer =
  | {
      readonly kind: 'book';
      readonly route: number;
      readonly sequence: bigint;
      readonly timeUs: bigint;
      readonly bids: readonly Level[];
      readonly asks: readonly Level[];
    }
  | { readonly kind: 'delta'; readonly deltas: readonly OracleDelta[] }
  | { readonly kind: 'trades'; readonly trades: readonly OracleTrade[] }
  | { readonly kind: 'control' }
  | { readonly kind: 'refused'; readonly why: string };

export const CONTROL: OracleAnswer = { kind: 'control' };

/** Runs a reading; what it throws as a Refusal is its answer. */
export function answerOf(read: () => OracleAnswer): OracleAnswer {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', why: error.message };
    throw error;
  }
}

const NESTING_MAX = 64;
const FIELDS_MAX = 64;

export function openObject(value: Json | undefined): Json {
  if (value?.kind !== 'object') throw new Refusal('an object is missing');
  if (value.fields.length > FIELDS_MAX) throw new Refusal('too many fields');
  if (hasEscapedKey(value)) throw new Refusal('an escaped key');
  return value;
}

export function openFrame(text: string): Json {
  const tree = parseLossless(text);
  if (tree === undefined) throw new Refusal('not JSON');
  if (nestingOf(tree) > NESTING_MAX) throw new Refusal('nested too deep');
  return openObject(tree);
}

export function itemsOf(value: Json | undefined): readonly Json[] {
  if (value?.kind !== 'array') throw new Refusal('an array is missing');
  return value.items;
}

export function routeOf(context: OracleContext, name: Json | undefined): { route: number; decimals: number } {
  const found = context.routes.get(stringOf(name) ?? '');
  if (found === undefined) throw new Refusal('nobody registered that name');
  return found;
}

/** `["price","amount",...]` */
function levelOf(item: Json, decimals: number): { level: Level; places: readonly [number, number] } {
  const [price, amount] = itemsOf(item);
  const texts = [textOf(price), textOf(amount)] as const;
  return {
    level: [fixedPoint(texts[0], decimals), fixedPoint(texts[1], decimals)],
    places: [placesOf(texts[0]), placesOf(texts[1])],
  };
}

/** The first `depth` levels that have an amount, strictly best first. Levels behind them are not looked at. */
export function sideOf(value: Json | undefined, depth: number, decimals: number, bids: boolean): Level[] {
  const side: Level[] = [];
  for (const item of itemsOf(value)) {
    if (side.length === depth) break;
    const { level } = levelOf(item, decimals);
    if (level[1] === 0n) continue;
    keepOrder(side, level, bids);
    side.push(level);
  }
  return side;
}

export function keepOrder(side: readonly Level[], next: Level, bids: boolean): void {
  const worst = side.at(-1)?.[0] ?? (bids ? (1n << 64n) - 1n : 0n);
  if (bids ? next[0] >= worst : next[0] <= worst) throw new Refusal('not best first');
}

export function changesOf(value: Json | undefined, side: 'bid' | 'ask', decimals: number): Change[] {
  return itemsOf(value).map((item) => {
    const { level, places } = levelOf(item, decimals);
    return [side, level[0], level[1], places[0], places[1]];
  });
}

/** Milliseconds and microseconds since 1970 are told apart by size. */
export const microseconds = (stamp: bigint) => (stamp < 10_000_000_000_000n ? stamp * 1000n : stamp);

export { fieldOf, integerOf, stringOf };
