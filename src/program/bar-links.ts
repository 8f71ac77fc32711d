import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { StoreLink } from '../actors/kline-persistence/store-link.ts';
import type { ServerAvailability } from '../servers/index.ts';
import { wallUs } from './venue-times.ts';

/** Connections to the table of bars: writing, reading and healing do not wait for each other. */
export interface BarLinks {
  readonly writer: StoreLink;
  readonly readers: StoreLink;
  readonly healer: StoreLink;
}

/** Undefined where nothing is stored. `onHealed` hears of bars that another process has replaced. */
export function linksTo(
  postgres: ServerAvailability,
  onHealed: (bars: readonly NamedBar[]) => void,
): BarLinks | undefined {
  if (postgres.state !== 'up') return undefined;
  const { url } = postgres;
  const nowUs = () => BigInt(wallUs());
  const writer: StoreLink = new StoreLink({
    ...{ url, prepares: true, nowUs },
    // Who cannot read them now still finds them in the history.
    onHealed: (news) => void writer.use((store) => store.healed(news)).then(onHealed, () => undefined),
  });
  const reader = () => new StoreLink({ url, prepares: false, nowUs });
  return { writer, readers: reader(), healer: reader() };
}
