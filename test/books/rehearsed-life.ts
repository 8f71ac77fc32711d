// The life of an exchange in a process of its own, for compiled.test.ts: a rehearsal first, then frames, while V8 says on standard
// output what it throws away of its compiled code. Arguments: `books` or `trades`, where both come, and the venue.
import { setFlagsFromString } from 'node:v8';
import { Exchange } from '../../src/actors/exchange/exchange.ts';
import { FrameReader } from '../../src/actors/exchange/frame-reader.ts';
import { Rehearsal } from '../../src/actors/exchange/rehearsal.ts';
import { TradeWriter } from '../../src/actors/exchange/trade-writer.ts';
import { wantedStreams } from '../../src/actors/exchange/wanted-streams.ts';
import { BookWriter, createBooks } from '../../src/actors/merger/book-memory.ts';
import { MERGER_TURN } from '../../src/protocols/merge-layout.ts';
import type { ExchangeSettings } from '../../src/protocols/topology.ts';
import { TRADE_BYTES } from '../../src/protocols/trade-layout.ts';
import { BOOK_BUCKETS } from '../../src/supervision/telemetry/buckets.ts';
import { openHistogram } from '../../src/supervision/telemetry/telemetry.ts';
import { SharedMemory } from '../../src/supervision/threads/memory.ts';
import { formatRing } from '../../src/supervision/threads/ring-ends.ts';
import { recordRing, ringBytes } from '../../src/supervision/threads/ring-layout.ts';
import { venueNamed } from '../../src/venues/index.ts';
import { closeAll, simulator } from '../../src/venues/simulation/rig.ts';
import { EXCHANGE_SETTINGS } from './exchange-settings.ts';

/** More than enough to meet everything that an ordinary frame does. */
const FRAMES = 200;

setFlagsFromString('--allow-natives-syntax');
const statusOf = new Function('f', 'return %GetOptimizationStatus(f)') as (f: unknown) => number;
const OPTIMIZED = 1 << 4;
/** What the socket calls, the real one first. */
const listeners: unknown[] = [];
const { listener } = FrameReader.prototype;
FrameReader.prototype.listener = function (source) {
  const made = listener.call(this, source);
  listeners.push(made.landing.landed);
  return made;
};

const venue = venueNamed(process.argv.at(-1)!);
const sim = await simulator({ symbols: ['BTC-USD'] });
const symbol = sim.truth.symbols(venue.facts.id)[0]!;
const settings: ExchangeSettings = {
  ...EXCHANGE_SETTINGS,
  venue: venue.facts.id,
  symbols: [{ instrument: 'BTC-USD', symbol, scale: 8 }],
  trades: process.argv[2] === 'trades',
};
const figures = new SharedArrayBuffer(4096);
const shape = recordRing(65_536, TRADE_BYTES);
const ring = new SharedMemory(new SharedArrayBuffer(ringBytes(shape)));
formatRing(ring, 0, shape);
const trades = new TradeWriter([{ worker: 0, buffer: ring.buffer, at: 0, bell: { buffer: figures, at: 0 } }]);
trades.route([{ symbol, to: { worker: 0, index: 0 } }]);
const plan = { venues: [venue.facts.id], symbols: ['BTC-USD'], depth: 10 };
const books = new BookWriter(createBooks(plan, { buffer: figures, at: 0 }, true), venue.facts.id, MERGER_TURN);
const own = wantedStreams(venue, settings, () => 0);
const rehearsal = new Rehearsal({ venue, streams: own, frameBytes: settings.maxFrameBytes, depth: 10 });
const exchange = new Exchange({
  ...{ path: '/feeds/venue', venue, settings, ...sim.endpoints(venue.facts.id), bookIndex: () => 0, rehearsal },
  ...{ books, trades, decodeTimes: openHistogram({ buffer: figures, at: 1024 }, BOOK_BUCKETS), random: Math.random },
});

const turn = () => new Promise((resolve) => setTimeout(resolve, 2));
const messages = () => exchange.status().counters.messages;
const hasBegun = () => [...own.values()].some(({ frames }) => frames > 0);
while (!rehearsal.isOver) {
  const isSubscribed = exchange.status().streams.every(({ phase }) => phase === 'acked' || phase === 'live');
  // No real frame comes while it rehearses, as with a feed that is slow.
  if (isSubscribed && !hasBegun()) sim.advance(1);
  exchange.tick();
  await turn();
}
setFlagsFromString('--trace-deopt');
for (const until = messages() + FRAMES; messages() < until; ) {
  sim.advance(1);
  exchange.tick();
  await turn();
}
setFlagsFromString('--no-trace-deopt');
exchange.close();
await closeAll();
const isCompiled = (statusOf(listeners[0]) & OPTIMIZED) !== 0;
process.stdout.write(`\n${JSON.stringify({ isCompiled, errors: exchange.status().counters.errors })}\n`);
