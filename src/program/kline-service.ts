// Klines/Subscribe and Klines/History. A subscriber that is slow gets the latest state of each bar once it reads again; it
// costs a bounded number of bars and nobody else's time.
import {
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { HISTORY_LIMIT_MAX } from '../actors/kline-persistence/store.ts';
import type { ServedBeside } from '../actors/publisher/actor.ts';
import { loadProtos } from '../actors/publisher/grpc-server.ts';
import { END_OF_TIME_US, isInterval } from '../protocols/kline.ts';
import { KNOWN_VENUES } from '../venues/index.ts';
import { type BarsView, namesOf } from './bars-source.ts';
import { messageOf } from './kline-message.ts';
import type { LiveBars } from './live-bars.ts';

interface SubscribeRequest {
  readonly venue: string;
  readonly symbols: readonly string[];
  readonly intervals: readonly string[];
  readonly closed_only: boolean;
}

interface HistoryRequest {
  readonly venue: string;
  readonly symbol: string;
  readonly interval: string;
  readonly before_time_us: string;
  readonly limit: number;
  readonly page: string;
}

interface HistoryPage {
  readonly bars: readonly object[];
  readonly next_page: string;
}

interface Refusal {
  readonly code: status;
  readonly details: string;
}

const PROTO = 'klines.proto';
const SERVICE = 'klines.Klines';
const SUBSCRIBERS_MAX = 1_000;
const WRITES_MAX = 4;
const BARS_PER_UPDATE = 500;
const PENDING_MAX = 50_000;
const LIMIT_DEFAULT = 500;
const NAMES_MAX = 2_000;

export interface KlineServiceOptions {
  readonly live: LiveBars;
  readonly bars: BarsView;
}

export function klineService(options: KlineServiceOptions): ServedBeside {
  const { Subscribe } = loadProtos([PROTO])[SERVICE] as ServiceDefinition;
  const encode = (update: object): Buffer => Subscribe!.responseSerialize(update);
  let subscribers = 0;
  return {
    proto: PROTO,
    service: SERVICE,
    methods: {
      Subscribe: (call: ServerWritableStream<SubscribeRequest, Buffer>) => {
        const refusal = subscribeRefusal(options.bars, call.request, subscribers);
        if (refusal !== undefined) {
          call.emit('error', refusal);
          return;
        }
        subscribers++;
        new Subscription(call, options, encode, () => {
          subscribers--;
        });
      },
      History: (call: ServerUnaryCall<HistoryRequest, HistoryPage>, reply: sendUnaryData<HistoryPage>) => {
        history(options.bars, call.request).then(
          (page) => ('code' in page ? reply(page) : reply(null, page)),
          ({ message }: Error) =>
            reply({ code: status.UNAVAILABLE, details: `stored bars cannot be read, try again: ${message}` }),
        );
      },
    },
  };
}

class Subscription {
  readonly #call: ServerWritableStream<SubscribeRequest, Buffer>;
  readonly #encode: (update: object) => Buffer;
  readonly #pending = new Map<string, NamedBar>();
  readonly #stop: () => void;
  readonly #onEnd: () => void;
  #unconfirmed = 0;
  #conflated = 0;
  #isOver = false;

  constructor(
    call: ServerWritableStream<SubscribeRequest, Buffer>,
    { live, bars }: KlineServiceOptions,
    encode: (update: object) => Buffer,
    onEnd: () => void,
  ) {
    this.#call = call;
    this.#encode = encode;
    this.#onEnd = onEnd;
    this.#stop = live.listen((changed) => this.#offer(changed));
    for (const event of ['cancelled', 'close', 'error']) call.on(event, () => this.#end());
    const { symbols, intervals } = bars.catalogue();
    for (const name of symbols) {
      for (const interval of intervals) {
        const newest = live.newest(...namesOf(name), interval);
        if (newest !== undefined) this.#offer([newest]);
      }
    }
  }

  #wants({ venue, symbol, bar }: NamedBar): boolean {
    const { request } = this.#call;
    if (request.closed_only && !bar.closed) return false;
    const isOf = (names: readonly string[], name: string) => names.length === 0 || names.includes(name);
    return (
      (request.venue === '' || request.venue === venue) &&
      isOf(request.symbols, symbol) &&
      isOf(request.intervals, bar.interval)
    );
  }

  #offer(changed: readonly NamedBar[]): void {
    for (const named of changed) {
      if (!this.#wants(named)) continue;
      const key = `${named.venue} ${named.symbol} ${named.bar.interval} ${named.bar.openUs}`;
      if (this.#pending.has(key)) this.#conflated++;
      this.#pending.set(key, named);
    }
    if (this.#pending.size > PENDING_MAX) {
      this.#call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `${PENDING_MAX} bars wait: read faster` });
      return;
    }
    this.#flush();
  }

  #flush(): void {
    while (!this.#isOver && this.#unconfirmed < WRITES_MAX && this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, BARS_PER_UPDATE);
      for (const [key] of batch) this.#pending.delete(key);
      const update = { bars: batch.map(([, named]) => messageOf(named)), conflated: this.#conflated };
      this.#conflated = 0;
      this.#unconfirmed++;
      this.#call.write(this.#encode(update), () => {
        this.#unconfirmed--;
        this.#flush();
      });
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stop();
    this.#pending.clear();
    this.#onEnd();
  }
}

async function history(bars: BarsView, request: HistoryRequest): Promise<HistoryPage | Refusal> {
  if (!/^\d{0,16}$/.test(request.page) || !/^\d{1,16}$/.test(request.before_time_us)) {
    return { code: status.INVALID_ARGUMENT, details: 'page, before_time_us: expected microseconds since 1970' };
  }
  const limit = Math.min(request.limit === 0 ? LIMIT_DEFAULT : request.limit, HISTORY_LIMIT_MAX);
  const asked = BigInt(request.page === '' ? request.before_time_us : request.page);
  const beforeUs = asked === 0n ? END_OF_TIME_US : asked;
  const { venue, symbol, interval } = request;
  const unknown = unknownIn(bars, request);
  if (!isInterval(interval)) return unknown!;
  const page = await bars.page({ venue, symbol, interval, beforeUs, limit });
  const last = page.bars.at(-1);
  // What is not served any more, or not in this interval, may be stored all the same.
  if (last === undefined && unknown !== undefined) {
    const any = await bars.page({ venue, symbol, interval, beforeUs: END_OF_TIME_US, limit: 1 });
    if (any.bars.length === 0) return unknown;
  }
  const isLast = last === undefined || (page.bars.length < limit && !page.isCut);
  return { bars: page.bars.map(messageOf), next_page: isLast ? '' : last.bar.openUs.toString() };
}

function subscribeRefusal(bars: BarsView, request: SubscribeRequest, subscribers: number): Refusal | undefined {
  if (subscribers >= SUBSCRIBERS_MAX) {
    return { code: status.RESOURCE_EXHAUSTED, details: `at most ${SUBSCRIBERS_MAX} subscribers are served` };
  }
  if (request.symbols.length > NAMES_MAX || request.intervals.length > NAMES_MAX) {
    return { code: status.INVALID_ARGUMENT, details: `symbols, intervals: at most ${NAMES_MAX} of each` };
  }
  const { symbols, intervals } = bars.catalogue();
  const { venue } = request;
  const served = symbols.map(namesOf);
  const venues = [...new Set([...served.map(([of]) => of), ...KNOWN_VENUES.map(({ id }) => id)])];
  const names = new Set(served.flatMap(([of, name]) => (venue === '' || venue === of ? [name] : [])));
  const unknown = request.symbols.find((name) => !names.has(name));
  return (
    notServed('venue', venue === '' || venues.includes(venue) ? undefined : venue, venues) ??
    notServed('symbols', unknown, symbols) ??
    notServed(
      'intervals',
      request.intervals.find((name) => !intervals.includes(name)),
      intervals,
    )
  );
}

function unknownIn(bars: BarsView, request: HistoryRequest): Refusal | undefined {
  const { symbols, intervals } = bars.catalogue();
  const name = `${request.venue}:${request.symbol}`;
  return (
    notServed('venue, symbol', symbols.includes(name) ? undefined : name, symbols) ??
    notServed('interval', intervals.includes(request.interval) ? undefined : request.interval, intervals)
  );
}

function notServed(field: string, name: string | undefined, known: readonly string[]): Refusal | undefined {
  if (name === undefined) return undefined;
  const some = known.slice(0, 20).join(', ');
  return { code: status.NOT_FOUND, details: `${field}: "${name.slice(0, 64)}" is not served; there are ${some}` };
}
