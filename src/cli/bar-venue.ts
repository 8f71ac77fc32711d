import { renderIssue } from '../protocols/config-issue.ts';
import type { BarHistory } from '../venues/history.ts';
import { VENUES } from '../venues/index.ts';
import type { Venue } from '../venues/venue.ts';
import { usage } from './arguments.ts';
import type { OptionSpec } from './command.ts';
import { readConfiguration } from './configuration.ts';

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

export const LIVE_OPTION = {
  type: 'boolean',
  about: 'ask the real venue, as the bars of `up --live` come from there',
} as const satisfies OptionSpec;

export const REST_OPTION = {
  type: 'string',
  value: 'URL',
  about:
    "the venue's REST address, everything before the path (that of the simulated venues, or with --live the real one)",
} as const satisfies OptionSpec;

/** Where to ask: bars of simulated venues and of real ones must not be mixed, so the real one is asked only by its name. */
export async function restUrlOf(
  { facts }: BarVenue,
  given: { readonly rest?: string | undefined; readonly live?: boolean | undefined; readonly config: string },
): Promise<string> {
  if (given.rest !== undefined) return given.rest;
  if (given.live === true) return facts.rest.url;
  const read = await readConfiguration(given.config, given.config);
  if (!read.ok) throw usage(`--config: ${read.issues.map(renderIssue).join('; ')}`);
  return `http://127.0.0.1:${read.value.config.kernel.simulation.port}/${facts.id}`;
}

export function barVenueNamed(name: string): BarVenue {
  const found = ABLE.find(({ facts }) => facts.id === name);
  if (found !== undefined) return found;
  throw usage(`--venue: expected one that gives bars of its own (${NAMES.join(', ')}), got "${name}"`);
}
