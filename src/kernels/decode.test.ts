import { describe, expect, it } from 'vitest';
import * as contract from './assembly/lib/contract.ts';
import { DecodeKernel, NO_ROUTE } from './decode.ts';
import { kernelAnswer, walk } from './oracle/kernel-answer.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const book = (bids: string, asks = '[]') => `{"lastUpdateId":160,"bids":${bids},"asks":${asks}}`;

function decode(text: string, decimals = 8): number {
  const kernel = new DecodeKernel();
  kernel.addRoute('BTCUSDT', 1);
  return walk(kernel, 'binance', bytes(text), 1, 0, decimals);
}

describe('a frame is refused with the code that says why', () => {
  it.each([
    ['cut off', '{"lastUpdateId":160,"bids":[["1","1"]', contract.REFUSED_JSON],
    ['empty', '', contract.REFUSED_JSON],
    ['two values', '{} {}', contract.REFUSED_JSON],
    ['no asks', '{"lastUpdateId":160,"bids":[]}', contract.REFUSED_SHAPE],
    ['a level of one', book('[["1"]]'), contract.REFUSED_SHAPE],
    ['a negative amount', book('[["1","-1"]]'), contract.REFUSED_DECIMAL],
    ['an exponent', book('[["1e3","1"]]'), contract.REFUSED_DECIMAL],
    ['beyond 64 bits', book('[["184467440737.09551616","1"]]'), contract.REFUSED_OVERFLOW],
    ['an id beyond 64 bits', '{"lastUpdateId":18446744073709551616,"bids":[],"asks":[]}', contract.REFUSED_OVERFLOW],
    ['too precise', book('[["0.000000001","1"]]'), contract.REFUSED_PRECISION],
    ['worst first', book('[["1","1"],["2","1"]]'), contract.REFUSED_ORDER],
    ['the same price twice', book('[["2","1"],["2","1"]]'), contract.REFUSED_ORDER],
    ['an unknown stream', `{"stream":"x@depth20","data":${book('[]')}}`, contract.REFUSED_ROUTE],
    ['an escaped key', `{"\\u006castUpdateId":1,"bids":[],"asks":[]}`, contract.REFUSED_ESCAPE],
    ['an escaped price', book('[["\\u0031","1"]]'), contract.REFUSED_ESCAPE],
    ['nested too deep', `{"x":${'['.repeat(70)}${']'.repeat(70)}}`, contract.REFUSED_DEPTH],
    ['too many fields', `{${Array.from({ length: 65 }, (_, n) => `"k${n}":1`).join(',')}}`, contract.REFUSED_FIELDS],
    ['longer than the buffer', ' '.repeat((1 << 20) + 1), contract.REFUSED_SIZE],
  ])('%s', (_, text, code) => {
    expect(decode(text)).toBe(code);
  });

  it('whose bids are full and do not close', () => {
    const levels = (from: number, by: number) =>
      Array.from({ length: 10 }, (_, n) => `["${from + by * n}","1"]`).join();
    const sides = (close: string) => `"bids":[${levels(90, -1)}${close},"asks":[${levels(100, 1)}]`;
    const stamps = '"timestamp":"1700000000","microtimestamp":"1700000000000000"';
    const frames = {
      binance: (close: string) => `{"lastUpdateId":160,${sides(close)}}`,
      bitstamp: (close: string) => `{"data":{${stamps},${sides(close)}},"channel":"order_book_btcusd","event":"data"}`,
    };
    for (const [venue, frame] of Object.entries(frames)) {
      const kernel = new DecodeKernel({ depth: 10 });
      kernel.addRoute('order_book_btcusd', 0);
      expect(walk(kernel, venue, bytes(frame(']')), 1, 0), venue).toBe(contract.BOOK_SNAPSHOT);
      expect(walk(kernel, venue, bytes(frame('')), 1, 0), venue).toBe(contract.REFUSED_JSON);
    }
  });

  it('too many trades for one frame', () => {
    const kernel = new DecodeKernel({ trades: 1 });
    kernel.addRoute('BTC/USD', 1);
    const trade = '{"symbol":"BTC/USD","side":"buy","price":1,"qty":1,"trade_id":1,"timestamp":"2026-01-01T00:00:00Z"}';
    const frame = (count: number) =>
      `{"channel":"trade","type":"update","data":[${Array(count).fill(trade).join(',')}]}`;
    expect(walk(kernel, 'kraken', bytes(frame(1)), 1)).toBe(contract.TRADES);
    expect(walk(kernel, 'kraken', bytes(frame(2)), 1)).toBe(contract.REFUSED_CAPACITY);
  });

  it('and says where', () => {
    const kernel = new DecodeKernel();
    walk(kernel, 'binance', bytes(book('[["1","x"]]')), 1, 0);
    expect(kernel.failedAt).toBe(book('[["1","x"]]').indexOf('x'));
  });
});

describe('numbers', () => {
  it.each([
    ['184467440737.09551615', 8, (1n << 64n) - 1n],
    ['18.446744073709551615', 18, (1n << 64n) - 1n],
    ['18446744073709551614', 0, (1n << 64n) - 2n],
    ['99999999.99999999', 8, 9999999999999999n],
    ['123456789.12345678', 8, 12345678912345678n],
    ['0.00000001', 8, 1n],
    ['1.500000000000', 8, 150000000n],
    ['7', 18, 7n * 10n ** 18n],
  ])('%s at %d places', (text, decimals, expected) => {
    const kernel = new DecodeKernel();
    expect(walk(kernel, 'binance', bytes(book('[]', `[["${text}","${text}"]]`)), 1, 0, decimals)).toBe(
      contract.BOOK_SNAPSHOT,
    );
    const answer = kernelAnswer(kernel, contract.BOOK_SNAPSHOT);
    expect(answer).toMatchObject({ bids: [], asks: [[expected, expected]] });
  });

  it('of a trade keep ids beyond 2^53', () => {
    const kernel = new DecodeKernel();
    kernel.addRoute('live_trades_btcusd', 4);
    const data = '"id":2001939623936278528,"id_str":"2001939623936278529","type":1,"amount_str":"0.1","price_str":"2"';
    const frame = `{"data":{${data},"microtimestamp":"1789456400586000"},"channel":"live_trades_btcusd","event":"trade"}`;
    expect(walk(kernel, 'bitstamp', bytes(frame), 1)).toBe(contract.TRADES);
    const answer = kernelAnswer(kernel, contract.TRADES);
    expect(answer).toMatchObject({ trades: [{ route: 4, takerBuy: false, sequence: 2001939623936278529n }] });
  });
});

describe('what lies around a frame', () => {
  it('does not change its meaning, wherever the frame is cut', () => {
    const whole = `{"stream":"btcusdt@depth20@100ms","data":${book('[["9","1"],["8","2"]]', '[["10","1"]]')}}`;
    const kernel = new DecodeKernel();
    kernel.addRoute('btcusdt@depth20@100ms', 1);
    for (let length = 0; length < whole.length; length++) {
      // What the frame lacks is already in the buffer, left there by the frame before.
      expect(walk(kernel, 'binance', bytes(whole), 1)).toBe(contract.BOOK_SNAPSHOT);
      expect(walk(kernel, 'binance', bytes(whole.slice(0, length)), 1)).toBeLessThan(0);
    }
  });

  it('fills the buffer to its last byte', () => {
    const text = book('[["9","1"]]', '[["10","1"]]');
    const kernel = new DecodeKernel({ frameBytes: text.length });
    expect(walk(kernel, 'binance', bytes(text), 1, 0)).toBe(contract.BOOK_SNAPSHOT);
    expect(walk(kernel, 'binance', bytes(`${text} `), 1, 0)).toBe(contract.REFUSED_SIZE);
  });
});

it('tells where the name of the stream stands', () => {
  const kernel = new DecodeKernel();
  kernel.addRoute('btcusdt@depth20@100ms', 5);
  const frame = bytes(`{"stream":"btcusdt@depth20@100ms","data":${book('[]')}}`);
  walk(kernel, 'binance', frame, 1, NO_ROUTE);
  const { route, nameOffset, nameLength } = kernel;
  expect([route, frame.toString('latin1', nameOffset, nameOffset + nameLength)]).toEqual([5, 'btcusdt@depth20@100ms']);
});
