import type { BarHistory } from '../venues/history.ts';
import { VENUES } from '../venues/index.ts';
import type { Venue } from '../venues/venue.ts';
import { usage } from './arguments.ts';
import type { OptionSpec } from './command.ts';

/** A venue that can be asked for bars of its own. */
export interface BarVenue {
  readonly facts: Venue['facts'];
  readonly bars: BarHistory;
}

const ABLE: readonly BarVenue[] = VENUES.flatMap(({ facts, history }) =>
  history?.bars === undefined ? [] : [{ facts, bars: history.bars }],
);
const NAMES = ABLE.map(({ facts }) => facts.id);

export const BAR_VENUE_OPTION = {
  type: 'string',
  value: 'NAME',
  default: NAMES[0]!,
  about: `the venue to ask: one of ${NAMES.join(', ')}`,
  offers: NAMES,
} as const satisfies OptionSpec;

export function barVenueNamed(name: string): BarVenue {
  const found = ABLE.find(({ facts }) => facts.id === name);
  if (found !== undefined) return found;
  throw usage(`--venue: expected one that gives bars of its own (${NAMES.join(', ')}), got "${name}"`);
}
