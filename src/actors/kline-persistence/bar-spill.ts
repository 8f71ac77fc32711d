// The bars' part of the spill: segments like those of events, in a folder of their own beside them, under the same quota.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SpillRecord } from '../../protocols/spill-layout.ts';
import type { SpillSettings } from '../../protocols/topology.ts';
import { diskFs } from '../spill/file-system.ts';
import { lockFolder } from '../spill/folder-lock.ts';
import { SEGMENT_NAME } from '../spill/recovery.ts';
import { scanSegment } from '../spill/segment-scan.ts';
import { type SpillInput, SpillStore } from '../spill/spill-store.ts';
import { BARS_LANE, folderBytes } from '../spill/yard.ts';
import { BARS_PER_RECORD, decodeState, encodeState, type SymbolState } from './symbol-state.ts';

export interface BarSpillOptions {
  /** With an absolute folder. */
  readonly settings: () => SpillSettings;
}

interface Open {
  readonly store: SpillStore;
  readonly unlock: () => void;
  readonly damaged: number;
}

const REPLAY_RECORDS = 200;

export class BarSpill {
  readonly #options: BarSpillOptions;
  #opening: Promise<Open> | undefined;
  #open: Open | undefined;
  #sequence = 0;
  #bars = 0;
  #unreadable = 0;
  #found: ReadonlyMap<string, SymbolState> = new Map();

  constructor(options: BarSpillOptions) {
    this.#options = options;
  }

  /** Closed bars on the disk that are not known to be stored, and how much disk they take. */
  get standing() {
    const { store, damaged = 0 } = this.#open ?? {};
    return { bars: this.#bars, bytes: store?.bytes ?? 0, damaged, unreadable: this.#unreadable };
  }

  /** Opens the folder, repairs what a crash left, and answers how many records wait in it. */
  async open(): Promise<number> {
    const { store } = await this.#ready();
    return store.records;
  }

  /** What the newest record of an earlier life says of a symbol; undefined where it has none. */
  async stateOf(venue: string, symbol: string): Promise<SymbolState | undefined> {
    await this.#ready();
    return this.#found.get(`${venue} ${symbol}`);
  }

  /** Returns once the states are on the disk. A refusal (full, broken, in use) leaves nothing that was promised. */
  async append(states: readonly SymbolState[]): Promise<void> {
    const { store } = await this.#ready();
    await store.append(states.flatMap(partsOf).map((state) => this.#record(state)));
    this.#bars += closedIn(states);
  }

  /** Gives the oldest states to whoever stores them, and erases them after that. Answers how many records are left. */
  async replay(keep: (states: readonly SymbolState[]) => Promise<void>): Promise<number> {
    const { store } = await this.#ready();
    const chunk = await store.nextChunk(REPLAY_RECORDS);
    if (chunk === undefined) {
      this.#bars = 0;
      return 0;
    }
    const states = statesIn(chunk.records);
    try {
      await keep(states);
    } catch (error) {
      store.rewind();
      throw error;
    }
    await store.commit(chunk);
    this.#unreadable += chunk.records.length - states.length;
    this.#bars = Math.max(0, this.#bars - closedIn(states));
    return store.records;
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    this.#open = undefined;
    await opened?.store.seal().catch(() => undefined);
    opened?.unlock();
  }

  #ready(): Promise<Open> {
    this.#opening ??= this.#openFolder().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #openFolder(): Promise<Open> {
    const { folder, segmentBytes, segmentAgeMs, maxBytes, minFreeBytes } = this.#options.settings();
    const lane = join(folder, BARS_LANE);
    const unlock = lockFolder(lane);
    try {
      const store = await SpillStore.open({
        ...{ folder: lane, fs: diskFs, segmentBytes, segmentAgeMs, bytesMax: maxBytes, freeBytesMin: minFreeBytes },
        bytesElsewhere: () => folderBytes(folder) - folderBytes(lane),
        nowSeconds: () => Math.floor(Date.now() / 1_000),
        reached: () => undefined,
      });
      // Lost bars cannot be had from Redis: whoever looks may acknowledge them at once.
      await store.settleDamage(await store.pendingDamage(), 0);
      const damaged = (await store.unacknowledgedDamage()).reduce((sum, { lost }) => sum + lost, 0);
      await this.#look(lane);
      this.#open = { store, unlock, damaged };
      return this.#open;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  async #look(lane: string): Promise<void> {
    const found = new Map<string, SymbolState>();
    this.#bars = 0;
    for (const name of segmentsOf(lane)) {
      await scanSegment(diskFs, join(lane, name), (record) => {
        const state = decodeState(record.envelope);
        if (state === undefined) return;
        this.#bars += closedIn([state]);
        found.set(`${state.venue} ${state.symbol}`, state);
      });
    }
    this.#found = found;
  }

  #record(state: SymbolState): SpillInput {
    const nowMs = Date.now();
    const envelope = encodeState(state);
    return { entryId: `${nowMs}-${this.#sequence++}`, tsKernel: BigInt(nowMs) * 1000n, deliveries: 1, envelope };
  }
}

export function statesIn(records: readonly Pick<SpillRecord, 'envelope'>[]): SymbolState[] {
  return records.flatMap(({ envelope }) => decodeState(envelope) ?? []);
}

function segmentsOf(lane: string): string[] {
  if (!existsSync(lane)) return [];
  return readdirSync(lane)
    .filter((name) => SEGMENT_NAME.test(name))
    .sort();
}

function closedIn(states: readonly SymbolState[]): number {
  return states.reduce((sum, { bars }) => sum + bars.filter(({ closed }) => closed).length, 0);
}

/** A symbol with more bars than a record may hold takes several; a restart goes on from the last alone. */
function partsOf(state: SymbolState): SymbolState[] {
  const { bars } = state;
  if (bars.length <= BARS_PER_RECORD) return [state];
  const count = Math.ceil(bars.length / BARS_PER_RECORD);
  return Array.from({ length: count }, (_, part) => {
    const to = bars.length - (count - 1 - part) * BARS_PER_RECORD;
    const isLast = part === count - 1;
    const nextSequence = isLast ? state.nextSequence : 0n;
    return { ...state, nextSequence, bars: bars.slice(Math.max(0, to - BARS_PER_RECORD), to) };
  });
}
