import { beforeEach, describe, expect, it } from 'vitest';
import { KlineSymbols } from './kline-symbols.ts';
import { SymbolDiscovery } from './symbol-discovery.ts';

const SETTINGS = {
  ...{ discovery: ['binance'], include: ['*USDT'], exclude: ['BAD*'], ackTimeoutMs: 100, goneAfterMs: 60_000 },
  ...{ maxSymbols: 100, workers: 2 },
};

let symbols: KlineSymbols;
let discovery: SymbolDiscovery;
let nowMs: number;
let live: number[];
let removed: string[];
let changes: number;

beforeEach(() => {
  symbols = new KlineSymbols();
  [nowMs, live, removed, changes] = [1_000, [0, 1], [], 0];
  discovery = new SymbolDiscovery({
    settings: SETTINGS,
    symbols,
    workers: () => live,
    nowMs: () => nowMs,
    onChanged: () => changes++,
    remove: async (worker, index) => void removed.push(`${index}@${worker}`),
  });
});

const at = (name: string) => symbols.byName('binance', name);
const places = () => symbols.all().map(({ symbol, worker, isShown }) => `${symbol}@${worker}${isShown ? '' : '?'}`);

/** Answers for every symbol that waits. */
function answer(isPlaced = true): void {
  for (const symbol of symbols.all().filter((one) => !one.isShown)) {
    discovery.answered(symbol, symbol.worker, isPlaced);
  }
}

describe('a symbol on the ticker', () => {
  it('is shown when its worker has it, and asks the exchanges for nothing then', () => {
    discovery.seen('binance', ['XUSDT', 'YUSDT', 'BADUSDT', 'XEUR']);
    expect(places()).toEqual(['XUSDT@0?', 'YUSDT@1?']);
    expect(changes).toBe(1);
    answer();
    expect(places()).toEqual(['XUSDT@0', 'YUSDT@1']);
    expect(changes).toBe(1);
  });

  it('goes to the next worker when the first does not answer, which is told not to take it any more', () => {
    discovery.seen('binance', ['XUSDT']);
    const { index } = at('XUSDT')!;
    answer(false);
    expect([places(), removed]).toEqual([['XUSDT@1?'], [`${index}@0`]]);
    answer();
    expect([places(), at('XUSDT')!.index]).toEqual([['XUSDT@1'], index]);
  });

  it('that no worker took is offered again after a while', () => {
    discovery.seen('binance', ['XUSDT']);
    answer(false);
    answer(false);
    changes = 0;
    nowMs += 6_000;
    discovery.look();
    expect(changes).toBe(1);
    answer();
    expect(places()).toEqual(['XUSDT@0']);
  });
});

describe('a symbol that is on the ticker no more', () => {
  const tick = (names: readonly string[], forMs: number) => {
    for (const end = nowMs + forMs; nowMs < end; nowMs += 5_000) {
      discovery.seen('binance', names);
      discovery.look();
    }
  };

  it('is let go after the stated time, and its worker told', () => {
    discovery.seen('binance', ['XUSDT', 'YUSDT']);
    answer();
    tick(['YUSDT'], 50_000);
    expect(places()).toHaveLength(2);
    const { index } = at('XUSDT')!;
    tick(['YUSDT'], 30_000);
    expect([places(), removed, discovery.stats.delisted]).toEqual([['YUSDT@1'], [`${index}@0`], 1]);
  });

  it('stays while the ticker itself does not come', () => {
    discovery.seen('binance', ['XUSDT', 'YUSDT']);
    answer();
    nowMs += 3_600_000;
    tick(['YUSDT'], 40_000);
    expect(places()).toHaveLength(2);
    tick(['YUSDT'], 40_000);
    expect(places()).toEqual(['YUSDT@1']);
  });

  it('or that other patterns do not let in, is let go at once', () => {
    discovery.seen('binance', ['XUSDT', 'YUSDT']);
    answer();
    discovery.reconfigure({ ...SETTINGS, exclude: ['X*'] });
    expect(places()).toEqual(['YUSDT@1']);
    discovery.seen('binance', ['XUSDT', 'ZUSDT']);
    expect(places()).toEqual(['YUSDT@1', 'ZUSDT@0?']);
  });
});

describe('a change of workers', () => {
  it('moves symbols to a new one until all have as many, and from one that will end', () => {
    discovery.seen('binance', ['AUSDT', 'BUSDT', 'CUSDT', 'DUSDT']);
    answer();
    live = [0, 1, 2];
    discovery.look();
    const away = () => symbols.all().filter(({ worker, home }) => worker !== home);
    expect(away().map(({ home }) => home)).toEqual([2]);
    for (const symbol of away()) {
      symbol.worker = symbol.home;
      discovery.moved(symbol, 2, true);
    }
    discovery.look();
    expect(away()).toEqual([]);
    discovery.retire([2]);
    expect(away().map(({ worker, home }) => [worker, home])).toEqual([[2, 1]]);
  });
});
