import { StoreLink } from '../actors/kline-persistence/store-link.ts';
import type { ServerAvailability } from '../servers/index.ts';
import { wallUs } from './venue-times.ts';

/** Connections to the table of bars: writing, reading and healing do not wait for each other. */
export interface BarLinks {
  readonly writer: StoreLink;
  readonly readers: StoreLink;
  readonly healer: StoreLink;
}

/** Undefined where nothing is stored. */
export function linksTo(postgres: ServerAvailability): BarLinks | undefined {
  if (postgres.state !== 'up') return undefined;
  const { url } = postgres;
  const link = (prepares: boolean) => new StoreLink({ url, prepares, nowUs: () => BigInt(wallUs()) });
  return { writer: link(true), readers: link(false), healer: link(false) };
}
