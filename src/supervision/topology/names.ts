import { text } from './leaves.ts';

/** The bar lengths that K-lines can be kept in, shortest first. Weeks begin on Monday; all are in UTC. */
export const INTERVALS = [
  ...(['1s', '1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '8h', '12h'] as const),
  ...(['1d', '3d', '1w', '1M'] as const),
] as const;

export const threadName = (about: string) =>
  text(about, 'a name of lower-case letters, digits and dashes', /^[a-z][a-z0-9-]{0,31}$/);

export const venueName = (about: string) =>
  text(about, 'a venue name of lower-case letters, digits and dashes', /^[a-z][a-z0-9-]{0,31}$/);

export const instrumentName = (about: string) =>
  text(about, 'an instrument such as BTC-USD', /^[A-Z0-9]{1,20}-[A-Z0-9]{1,20}(-[A-Z0-9]{1,12})?$/);

export const venueSymbol = (about: string) =>
  text(about, "a symbol in the venue's own spelling, such as BTCUSDT", /^[A-Za-z0-9][A-Za-z0-9/_.:-]{0,39}$/);

export const symbolPattern = (about: string) =>
  text(about, 'a symbol, where * stands for any characters', /^[A-Za-z0-9/_.:*-]{1,40}$/);

export const streamName = (about: string) =>
  text(about, 'a Redis stream name of letters, digits and _ . : { } -', /^[A-Za-z0-9_.:{}-]{1,128}$/);

export const host = (about: string) =>
  text(
    about,
    'an IP address or a host name',
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|[0-9A-Fa-f:.]{2,45})$/,
  );

export const filePath = (about: string) => text(about, 'a path', /^[^\t\n\r]{1,1024}$/);

export const webSocketUrl = (about: string) => text(about, 'a ws:// or wss:// URL', /^wss?:\/\/[^\s/?#]+[^\s]*$/);

export const webUrl = (about: string) => text(about, 'an http:// or https:// URL', /^https?:\/\/[^\s/?#]+[^\s]*$/);
