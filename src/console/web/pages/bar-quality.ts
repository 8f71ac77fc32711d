import type { BarQuality } from '../../../protocols/console-api.ts';

export const MEANS: Readonly<Record<BarQuality, string>> = {
  complete: 'every trade is in it',
  'partial-first': 'watched from the middle on',
  quiet: 'nothing traded',
  gap: 'trades are missing',
  repaired: 'was a gap, now whole',
};

/** How the chart marks a bar, beside its colour. */
export const MARKS: Readonly<Record<BarQuality, string>> = {
  complete: '▮',
  'partial-first': '■',
  quiet: '•',
  gap: '▼',
  repaired: '●',
};
