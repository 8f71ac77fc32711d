// A venue that announces its end, in ways that take more than one try.
import { afterEach, describe, expect, it } from 'vitest';
import { until } from './harness.ts';
import { StandIn } from './stand-in.ts';

const NOTICE = '{"event":"bts:request_reconnect","channel":"","data":null}';
let standIn: StandIn;
afterEach(() => standIn.stop());

const waited = (what: string) => () => `${what}: ${JSON.stringify([standIn.status(), standIn.heard.length])}`;
const isSubscribe = (text: string) => text.includes('bts:subscribe');

/** Serves one book on each connection at once; `onJoined` follows. */
async function stand(onJoined: (say: (frame: string) => void) => void): Promise<void> {
  let micros = 1;
  standIn = new StandIn('bitstamp', {
    settings: { trades: false, reconnect: { minMs: 20, maxMs: 60_000, jitter: 0, resetAfterMs: 60_000 } },
    answer: (text, say) => {
      if (!isSubscribe(text)) return;
      say('{"event":"bts:subscription_succeeded","channel":"order_book_btcusd","data":{}}');
      say(
        `{"data":{"timestamp":"1","microtimestamp":"${micros++}","bids":[["9","1"]],"asks":[["10","1"]]},"channel":"order_book_btcusd","event":"data"}`,
      );
      onJoined(say);
    },
  });
  await standIn.start();
}

describe('a notice', () => {
  it('that comes on each new connection is followed ever more seldom', async () => {
    await stand((say) => say(NOTICE));
    const times: number[] = [];
    await until(() => {
      const { rotations } = standIn.status().counters;
      if (rotations > times.length) times.push(performance.now());
      return rotations >= 6;
    }, waited('six rotations'));
    // At once, then after 20, 40, 80, 160, 320 ms, and what a tick adds.
    expect(times.at(-1)! - times[0]!).toBeGreaterThan(600);
    expect(standIn.status().counters).toMatchObject({ reconnections: 0, rotationsFailed: 0 });
  });

  it('is followed again when the first successor fails', async () => {
    await stand(() => {});
    await until(() => standIn.counting.size === 1, waited('the book'));
    standIn.refuse(1);
    standIn.say(NOTICE);
    await until(() => standIn.status().counters.rotations === 1, waited('a rotation'));
    expect(standIn.status().counters).toMatchObject({ reconnections: 0, rotationsFailed: 1 });
    expect(standIn.counting.size).toBe(1);
  });
});
