import { type Envelope, EventProducer } from '../../src/protocols/event-producer.ts';
import type { Random } from './random.ts';

const SYMBOLS = Array.from({ length: 20 }, (_, n) => `${['BTC', 'ETH', 'SOL', 'ADA', 'XRP'][n % 5]}${n}-USD`);

export const SOURCE = 'simulated';

/** Events of mixed types, about 350 bytes each, as a busy module would send them. */
export class EventLoad {
  readonly #random: Random;
  readonly #producer: EventProducer;
  readonly #now: () => bigint;
  #sequence = 0;

  constructor(random: Random, connection: string, now: () => bigint) {
    this.#random = random;
    this.#now = now;
    this.#producer = new EventProducer({ source: SOURCE, connectionId: connection, moduleVersion: '1.4.0', now });
  }

  next(): Envelope {
    const random = this.#random;
    const sequence = ++this.#sequence;
    const price = (64_000 + random.next() * 100).toFixed(2);
    const amount = (random.next() * 2).toFixed(6);
    const symbol = random.pick(SYMBOLS);
    const tsEvent = this.#now() - 1_500_000n;
    const draw = random.next();
    if (draw < 0.55) {
      const payload = { price, amount, side: random.chance(0.5) ? 'buy' : 'sell', trade_id: sequence, sequence };
      return this.#producer.event({ eventType: 'trade', symbol, tsEvent, payload });
    }
    if (draw < 0.9) {
      const payload = {
        bid: price,
        bid_size: amount,
        ask: (Number(price) + 0.5).toFixed(2),
        ask_size: amount,
        sequence,
      };
      return this.#producer.event({ eventType: 'quote', symbol, tsEvent, payload });
    }
    const payload = { open: price, high: price, low: price, close: price, volume: amount, trades: sequence, sequence };
    return this.#producer.event({ eventType: 'ohlc', symbol, tsEvent, payload });
  }
}
