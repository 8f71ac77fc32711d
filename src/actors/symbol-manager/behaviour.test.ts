import { describe, expect, it } from 'vitest';
import { Random, testSeed } from '../../kernels/oracle/random.ts';
import {
  keyOf,
  type ManagerEffect,
  type ManagerMessage,
  type ManagerState,
  placesOf,
  receive,
  startManager,
} from './behaviour.ts';

const SETTINGS = { ackWithinMs: 100, perWorkerMax: 1000, indexMax: 2000 };

class Manager {
  state: ManagerState;

  constructor(live: readonly number[], settings = SETTINGS) {
    this.state = startManager(settings, live);
  }

  tell(message: ManagerMessage): string[] {
    const [state, effects] = receive(this.state, message);
    this.state = state;
    return effects.map(brief);
  }

  see(...symbols: string[]): string[] {
    return this.tell({ kind: 'seen', venue: 'b', symbols });
  }

  answer(kind: 'acked' | 'failed', symbol: string, worker: number): string[] {
    return this.tell({ kind, key: keyOf('b', symbol), worker });
  }

  get places(): string[] {
    return placesOf(this.state).map(({ symbol, index, worker }) => `${symbol}#${index}@${worker}`);
  }
}

const brief = (effect: ManagerEffect) =>
  `${effect.kind} ${effect.symbol}#${effect.index}@${effect.worker}${'to' in effect ? `>${effect.to}` : ''}`;

describe('a new symbol', () => {
  it('shows in the global index only after its worker has acked', () => {
    const manager = new Manager([0, 1]);
    expect(manager.see('X', 'Y', 'X')).toEqual(['add-symbol X#0@0', 'add-symbol Y#1@1']);
    expect(manager.places).toEqual([]);
    expect(manager.answer('acked', 'X', 0)).toEqual(['publish X#0@0']);
    expect(manager.places).toEqual(['X#0@0']);
    expect(manager.see('X')).toEqual([]);
  });

  it('passes over a worker that does not ack, and waits when there is none left', () => {
    const manager = new Manager([0, 1]);
    manager.see('X');
    expect(manager.answer('failed', 'X', 0)).toEqual(['add-symbol X#0@1']);
    expect(manager.answer('failed', 'X', 1)).toEqual([]);
    expect(manager.tell({ kind: 'workers', live: [0, 1, 2] })).toEqual(['add-symbol X#0@0']);
  });

  it('is taken back from a worker whose ack comes after it was passed over', () => {
    const manager = new Manager([0, 1]);
    manager.see('X');
    manager.answer('failed', 'X', 0);
    expect(manager.answer('acked', 'X', 0)).toEqual(['remove-symbol X#0@0']);
    expect(manager.answer('acked', 'X', 1)).toEqual(['publish X#0@1']);
    expect(manager.answer('acked', 'X', 0)).toEqual(['remove-symbol X#0@0']);
    expect(manager.places).toEqual(['X#0@1']);
  });

  it('is refused and counted when every index is taken', () => {
    const manager = new Manager([0], { ...SETTINGS, indexMax: 1 });
    manager.see('X', 'Y', 'Z');
    expect([manager.state.refused, manager.state.entries.size]).toEqual([2, 1]);
  });
});

describe('a placed symbol', () => {
  it('goes to another worker when its own dies, under the same index', () => {
    const manager = new Manager([0, 1]);
    manager.see('X');
    manager.answer('acked', 'X', 0);
    expect(manager.tell({ kind: 'workers', live: [1] })).toEqual(['withdraw X#0@0', 'add-symbol X#0@1']);
    expect(manager.places).toEqual([]);
  });

  it('leaves its index to others once the worker has let it go', () => {
    const manager = new Manager([0], { ...SETTINGS, indexMax: 2 });
    manager.see('X');
    manager.answer('acked', 'X', 0);
    expect(manager.tell({ kind: 'gone', venue: 'b', symbol: 'X' })).toEqual(['withdraw X#0@0', 'remove-symbol X#0@0']);
    expect(manager.see('Y')).toEqual(['add-symbol Y#1@0']);
    manager.answer('acked', 'X', 0);
    expect(manager.see('Z')).toEqual(['add-symbol Z#0@0']);
  });

  it('moves from the fullest to the emptiest worker, and stays when the move fails', () => {
    const manager = new Manager([0]);
    manager.see('X', 'Y');
    manager.answer('acked', 'X', 0);
    manager.answer('acked', 'Y', 0);
    manager.tell({ kind: 'workers', live: [0, 1] });
    expect(manager.tell({ kind: 'rebalance' })).toEqual(['move-symbol X#0@0>1']);
    expect(manager.tell({ kind: 'rebalance' })).toEqual([]);
    manager.answer('failed', 'X', 1);
    expect(manager.places).toEqual(['X#0@0', 'Y#1@0']);
    manager.tell({ kind: 'rebalance' });
    expect(manager.answer('acked', 'X', 1)).toEqual(['publish X#0@1']);
  });
});

describe('workers that will end', () => {
  it('give their symbols to the least loaded of the rest while they run, and get no new ones', () => {
    const manager = new Manager([0, 1, 2]);
    manager.see('X', 'Y', 'Z');
    for (const [at, symbol] of ['X', 'Y', 'Z'].entries()) manager.answer('acked', symbol, at);
    expect(manager.tell({ kind: 'retire', workers: [2] })).toEqual(['move-symbol Z#2@2>0']);
    expect(manager.see('V')).toEqual(['add-symbol V#3@1']);
    expect(manager.answer('acked', 'Z', 0)).toEqual(['publish Z#2@0']);
    expect(manager.tell({ kind: 'workers', live: [0, 1] })).toEqual([]);
  });
});

describe('under random deaths, refusals and late answers', () => {
  it('every symbol ends up with exactly one live worker', () => {
    const seed = testSeed();
    for (let run = seed; run < seed + 200; run++) {
      const random = new Random(run);
      const manager = new Manager([0, 1, 2]);
      const held = new Map<number, Set<string>>([0, 1, 2].map((worker) => [worker, new Set<string>()]));
      let asked: ManagerEffect[] = [];
      const tell = (message: ManagerMessage) => {
        const [state, effects] = receive(manager.state, message);
        manager.state = state;
        asked.push(...effects.filter(({ kind }) => kind.endsWith('-symbol')));
      };
      const step = (fair: boolean) => {
        const [effect] = asked.splice(fair ? 0 : random.below(Math.max(1, asked.length)), 1);
        if (effect === undefined || !('key' in effect)) return;
        const alive = manager.state.live.includes(effect.worker);
        if (effect.kind === 'move-symbol') {
          if (alive && held.get(effect.worker)!.delete(effect.symbol)) held.get(effect.to)!.add(effect.symbol);
          return tell({ kind: alive ? 'acked' : 'failed', key: effect.key, worker: effect.to });
        }
        const done = alive && (fair || random.chance(80));
        if (done && effect.kind === 'add-symbol') held.get(effect.worker)!.add(effect.symbol);
        if (done && effect.kind === 'remove-symbol') held.get(effect.worker)!.delete(effect.symbol);
        tell({ kind: done ? 'acked' : 'failed', key: effect.key, worker: effect.worker });
      };
      for (let turn = 0; turn < 60; turn++) {
        if (random.chance(30)) tell({ kind: 'seen', venue: 'b', symbols: [`S${random.below(12)}`] });
        if (random.chance(8)) {
          const dead = random.below(3);
          held.get(dead)!.clear();
          asked = asked.filter((effect) => effect.worker !== dead);
          tell({ kind: 'workers', live: [0, 1, 2].filter((worker) => worker !== dead) });
          tell({ kind: 'workers', live: [0, 1, 2] });
        }
        step(false);
      }
      tell({ kind: 'workers', live: [0, 1, 2] });
      for (let turn = 0; turn < 500 && asked.length > 0; turn++) step(true);
      for (const { symbol, worker } of placesOf(manager.state)) {
        const holders = [0, 1, 2].filter((one) => held.get(one)!.has(symbol));
        expect(holders, `TAPEWORKS_SEED=${run} ${symbol}`).toEqual([worker]);
      }
    }
  });
});
