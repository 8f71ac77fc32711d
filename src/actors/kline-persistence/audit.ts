// Our bars beside the venue's own. Quote volumes are exact here (10^-16) and rounded there (10^-8, perhaps once a trade):
// they count as equal when they differ by less than one 10^-8 for each trade of the bar.
import type { Bar, BarFigures } from '../../protocols/kline.ts';

export const AUDITED_FIELDS = [
  ...(['open', 'high', 'low', 'close', 'volume', 'quoteVolume', 'trades', 'takerVolume', 'takerQuoteVolume'] as const),
];
export type AuditedField = (typeof AUDITED_FIELDS)[number];

export interface Mismatch {
  readonly openUs: bigint;
  readonly field: AuditedField;
  readonly ours: bigint;
  readonly theirs: bigint;
  readonly quality: Bar['quality'];
}

export interface Audit {
  /** Bars on both sides that claim to be whole, and those of them that are equal in every field. */
  readonly compared: number;
  readonly equal: number;
  /** Bars that the venue has and we do not, and the other way round. */
  readonly missing: readonly bigint[];
  readonly extra: readonly bigint[];
  readonly mismatches: readonly Mismatch[];
  /** Bars that we ourselves call incomplete: they are expected to differ, and count neither for nor against. */
  readonly marked: number;
}

const QUOTE_UNIT = 100_000_000n;

function differs(field: AuditedField, ours: Bar, theirs: BarFigures): boolean {
  if (field !== 'quoteVolume' && field !== 'takerQuoteVolume') return ours[field] !== theirs[field];
  const gap = ours[field] - theirs[field];
  const tolerance = QUOTE_UNIT * (theirs.trades > 0n ? theirs.trades : 1n);
  return gap >= tolerance || gap <= -tolerance;
}

export function claimsWhole({ quality }: Pick<Bar, 'quality'>): boolean {
  return quality !== 'gap' && quality !== 'partial-first';
}

/** Compares closed bars only: an open one is not yet what it will be. */
export function compareBars(ours: readonly Bar[], theirs: readonly BarFigures[]): Audit {
  const closed = new Map(ours.filter((bar) => bar.closed).map((bar) => [bar.openUs, bar]));
  const venue = new Map(theirs.map((bar) => [bar.openUs, bar]));
  const shared = theirs.flatMap((bar) => {
    const own = closed.get(bar.openUs);
    return own === undefined ? [] : [[own, bar] as const];
  });
  const mismatches = shared.flatMap(([own, bar]) =>
    AUDITED_FIELDS.filter((field) => differs(field, own, bar)).map((field) => {
      return { openUs: own.openUs, field, ours: own[field], theirs: bar[field], quality: own.quality };
    }),
  );
  const whole = shared.filter(([own]) => claimsWhole(own));
  const wrong = new Set(mismatches.filter(claimsWhole).map((mismatch) => mismatch.openUs));
  return {
    compared: whole.length,
    equal: whole.length - wrong.size,
    missing: [...venue.keys()].filter((openUs) => !closed.has(openUs)),
    extra: [...closed.keys()].filter((openUs) => !venue.has(openUs)),
    mismatches,
    marked: shared.length - whole.length,
  };
}

/** The share of compared bars that are equal in every field, or in one of them; 1 when there was nothing to compare. */
export function accuracy(audit: Audit, field?: AuditedField): number {
  if (audit.compared === 0) return 1;
  if (field === undefined) return audit.equal / audit.compared;
  const wrong = audit.mismatches.filter((mismatch) => claimsWhole(mismatch) && mismatch.field === field).length;
  return (audit.compared - wrong) / audit.compared;
}
