// The compact form of a whole book, in which levels that are not kept are not read: a frame damaged only there still
// counts. Answers undefined for every other form.
import { fixedPoint, Refusal } from './decimal.ts';
import { keepOrder, type Level, type OracleAnswer, type OracleContext } from './frame-oracle.ts';

const LEVEL = /\["(\d+(?:\.\d+)?)","(\d+(?:\.\d+)?)"\]/y;

interface Side {
  readonly levels: readonly Level[];
  /** Where the side's closing bracket stands, or the earliest place where it may. */
  readonly from: number;
}

/** From just behind the side's opening bracket. */
function compactSide(text: string, start: number, depth: number, decimals: number, bids: boolean): Side | undefined {
  const levels: Level[] = [];
  if (text[start] === ']') return { levels, from: start };
  for (let at = start; ; at++) {
    LEVEL.lastIndex = at;
    const match = LEVEL.exec(text);
    if (match === null) return undefined;
    at += match[0].length;
    const level: Level = [fixedPoint(match[1]!, decimals), fixedPoint(match[2]!, decimals)];
    if (level[1] !== 0n) {
      keepOrder(levels, level, bids);
      levels.push(level);
    }
    const closes = text[at] === ']';
    if (levels.length === depth ? closes || text[at] === ',' : closes) return { levels, from: at };
    if (text[at] !== ',') return undefined;
  }
}

/** Where the value of the next key begins, when the bytes from `from` to its colon hold no other colon and end so. */
function behindKey(text: string, from: number, ending: string): number | undefined {
  const colon = text.indexOf(':', from);
  if (colon < from + ending.length || text.slice(colon - ending.length, colon) !== ending) return undefined;
  return colon + 1;
}

function bothSides(text: string, at: number, depth: number, decimals: number) {
  const bids = compactSide(text, at, depth, decimals, true);
  if (bids === undefined) return undefined;
  const asksAt = behindKey(text, bids.from, '],"asks"');
  if (asksAt === undefined || text[asksAt] !== '[') return undefined;
  const asks = compactSide(text, asksAt + 1, depth, decimals, false);
  return asks && { bids: bids.levels, asks: asks.levels, from: asks.from };
}

/** A refusal inside the compact form is no answer yet: the strict reading gives it. */
function orStrict(read: () => OracleAnswer | undefined): OracleAnswer | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const BINANCE = /^(?:\{"stream":"([^"\\]{1,64})","data":)?\{"lastUpdateId":(0|[1-9]\d{0,15}),"bids":\[/;

export function compactBinance(text: string, context: OracleContext): OracleAnswer | undefined {
  const head = BINANCE.exec(text);
  if (head === null) return undefined;
  const name = head[1];
  const target = name === undefined ? context.fallback : context.routes.get(name);
  if (target === undefined) return undefined;
  return orStrict(() => {
    const sides = bothSides(text, head[0].length, context.depth, target.decimals);
    const closing = name === undefined ? ']}' : ']}}';
    if (sides === undefined || !text.endsWith(closing) || sides.from > text.length - closing.length) return undefined;
    const { bids, asks } = sides;
    return { kind: 'book', route: target.route, sequence: BigInt(head[2]!), timeUs: 0n, bids, asks };
  });
}

const BITSTAMP = /^\{"data":\{"timestamp":"\d{10}","microtimestamp":"(\d{16})","bids":\[/;
const BITSTAMP_TAIL = /\]\},"channel":"(order_book_[^"\\]{0,53})","event":"data"\}$/;

export function compactBitstamp(text: string, context: OracleContext): OracleAnswer | undefined {
  const head = BITSTAMP.exec(text);
  if (head === null) return undefined;
  const tail = BITSTAMP_TAIL.exec(text);
  const target = context.routes.get(tail?.[1] ?? '');
  if (tail === null || target === undefined) return undefined;
  return orStrict(() => {
    const sides = bothSides(text, head[0].length, context.depth, target.decimals);
    if (sides === undefined || sides.from > tail.index) return undefined;
    const micros = BigInt(head[1]!);
    return { kind: 'book', route: target.route, sequence: micros, timeUs: micros, bids: sides.bids, asks: sides.asks };
  });
}
