// What can be made to go wrong on request. A fault lasts for a number of frames (or requests), for a time, or happens
// once; a fault that names neither count nor time lasts for one.
import { TapeworksError } from '../../protocols/errors/index.ts';

/** What each kind does. `value` is in the unit that its line names. */
export const FAULT_KINDS = {
  disconnect: 'ends all connections; value: a close code, else the sockets are cut',
  stall: 'holds all frames back for durationMs, then sends them at once',
  'still-market': 'for durationMs nobody orders or trades; timers and heartbeats go on',
  'ack-then-silence': 'acks the next subscriptions but never serves them',
  duplicate: 'sends the next data frames twice',
  'out-of-order': 'sends the next data frames after the one that follows them',
  gap: 'leaves the next book frames out',
  'dropped-trades': 'leaves the next trade frames out',
  'late-trades': 'sends the next trade frames late; value: ms, else 3000',
  'corrupt-checksum': 'breaks the checksum of the next book frames',
  garbage: 'sends count frames that are not JSON',
  oversized: 'sends one frame of value bytes, else 16 MiB',
  fragmented: 'sends the next data frames in fragments of 16 bytes',
  'slow-drip': 'for durationMs sends everything in pieces of value bytes, else 64, every 5 ms',
  'ping-silence': 'for durationMs sends no pings and answers none, nor heartbeats',
  'shutdown-notice': 'sends the notice that the venue sends before it closes; after durationMs, if given, it closes',
  'refuse-connections': 'refuses new connections',
  'successor-refused': 'refuses new connections beside those that are open',
  'successor-silence':
    'for durationMs acks what new connections beside open ones ask for, serves nothing, and cuts them then',
  'successor-behind': 'for durationMs serves new connections beside open ones value ms late, else 3000',
  'successor-no-snapshot':
    'answers requests for the snapshot of a book with 500 while a connection is open beside another',
  'http-429': 'answers REST requests with 429; value: Retry-After in seconds, else 1',
  'http-418': 'answers REST requests with 418; value: Retry-After in seconds, else 2',
  'http-500': 'answers REST requests with 500',
  'clock-offset': "sets the venue's clock value ms ahead of the market's",
  'new-listing': 'lists symbol (BASE-QUOTE), else one of its own making',
  delisting: 'ends trading in symbol (BASE-QUOTE)',
} as const;

export type FaultKind = keyof typeof FAULT_KINDS;

export interface FaultRequest {
  readonly kind: FaultKind;
  /** One venue; without it, all of them. */
  readonly venue?: string;
  /** The venue's own symbol; without it, all of them. */
  readonly symbol?: string;
  readonly count?: number;
  readonly durationMs?: number;
  readonly value?: number;
}

interface ActiveFault {
  readonly request: FaultRequest;
  left: number;
  readonly untilMs: number;
}

const ACTIVE_MOST = 1000;
/** Of `oversized`: no client takes more, and no text can be much longer. */
const FRAME_BYTES_MOST = 256 << 20;

/** The faults that are active on one venue. */
export class VenueFaults {
  #active: ActiveFault[] = [];
  /** How often each kind has struck. */
  readonly struck = new Map<FaultKind, number>();

  start(request: FaultRequest): void {
    if (this.#active.length >= ACTIVE_MOST) {
      throw new TapeworksError('TW_SIM_BAD_FAULT', `${ACTIVE_MOST} faults are active already; clear some first`);
    }
    const timed = request.durationMs !== undefined;
    const left = request.count ?? (timed ? Number.POSITIVE_INFINITY : 1);
    const untilMs = timed ? performance.now() + request.durationMs : Number.POSITIVE_INFINITY;
    this.#active.push({ request, left, untilMs });
  }

  clear(): void {
    this.#active = [];
  }

  list(): readonly FaultRequest[] {
    this.#expire();
    return this.#active.map((fault) => fault.request);
  }

  /** True while a fault of the kind is on; does not use it up. */
  isOn(kind: FaultKind): FaultRequest | undefined {
    if (this.#active.length === 0) return undefined;
    this.#expire();
    return this.#active.find((fault) => fault.request.kind === kind)?.request;
  }

  /** Uses up one turn of a fault of the kind, if one is on that fits the symbol. */
  take(kind: FaultKind, symbol?: string): FaultRequest | undefined {
    if (this.#active.length === 0) return undefined;
    this.#expire();
    const fault = this.#active.find(
      ({ request }) =>
        request.kind === kind && (request.symbol === undefined || symbol === undefined || request.symbol === symbol),
    );
    if (fault === undefined) return undefined;
    fault.left--;
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
    return fault.request;
  }

  #expire(): void {
    const nowMs = performance.now();
    this.#active = this.#active.filter((fault) => fault.left > 0 && fault.untilMs > nowMs);
  }
}

/** Checks a request that came from outside. */
export function parseFault(input: unknown, venues: readonly string[]): FaultRequest {
  const fail = (what: string): never => {
    throw new TapeworksError('TW_SIM_BAD_FAULT', what);
  };
  if (typeof input !== 'object' || input === null) return fail('a fault is a JSON object with a kind');
  const fields = new Map<string, unknown>(Object.entries(input));
  const kind = fields.get('kind');
  if (typeof kind !== 'string' || !Object.hasOwn(FAULT_KINDS, kind)) {
    return fail(`kind: expected one of ${Object.keys(FAULT_KINDS).join(', ')}, got ${JSON.stringify(kind)}`);
  }
  for (const [name, value] of fields) {
    const texts = ['kind', 'venue', 'symbol'];
    const numbers = ['count', 'durationMs', 'value'];
    if (!texts.includes(name) && !numbers.includes(name)) fail(`${name}: no such field`);
    if (texts.includes(name) && typeof value !== 'string') fail(`${name}: expected text`);
    if (numbers.includes(name) && !(typeof value === 'number' && Number.isFinite(value)))
      fail(`${name}: expected a number`);
    if ((name === 'count' || name === 'durationMs') && Number(value) <= 0) fail(`${name}: expected more than 0`);
  }
  const value = fields.get('value');
  if (kind === 'oversized' && value !== undefined && !(Number(value) >= 0 && Number(value) <= FRAME_BYTES_MOST)) {
    fail(`value: expected 0..${FRAME_BYTES_MOST} bytes, got ${JSON.stringify(value)}`);
  }
  const venue = fields.get('venue');
  if (venue !== undefined && !venues.includes(String(venue))) {
    fail(`venue: expected one of ${venues.join(', ')}, got ${JSON.stringify(venue)}`);
  }
  return Object.fromEntries(fields) as unknown as FaultRequest;
}
