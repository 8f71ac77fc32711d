// The main thread's end of one partition worker: the memory that the two share, questions with their answers, and the
// rings by which exchanges reach the worker. It outlives the worker's thread, so that exchanges keep their rings.
import type { PartitionArgs } from '../actors/partition-worker/duty.ts';
import { BARS_DEFAULTS, type BarsLimits, barsOf, type Reader } from '../kernels/bars.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import type { TradeEdge } from '../protocols/exchange.ts';
import { type Bar, compileIntervals } from '../protocols/kline.ts';
import { BAR_RECORD_BYTES } from '../protocols/kline-layout.ts';
import {
  decodeNumbered,
  encodeNumbered,
  type PartitionCommand,
  type PartitionReply,
  type SnapshotReader,
  type Trouble,
} from '../protocols/partition.ts';
import { TRADE_BYTES } from '../protocols/trade-layout.ts';
import { DOORBELL_BYTES, Doorbell } from '../supervision/threads/doorbell.ts';
import { FrameConsumer, FrameProducer } from '../supervision/threads/frame-ring.ts';
import { NO_ROOM } from '../supervision/threads/layout.ts';
import { LoopConsumer } from '../supervision/threads/loop-consumer.ts';
import { SharedMemory } from '../supervision/threads/memory.ts';
import { admitToRing, formatRing, inspectRing } from '../supervision/threads/ring-ends.ts';
import { frameRing, type RingShape, recordRing, ringBytes } from '../supervision/threads/ring-layout.ts';
import { THREAD_BLOCK_BYTES, THREAD_DOORBELL_BYTE } from '../supervision/threads/thread-block.ts';
import { Turns } from '../supervision/turns.ts';

export interface PartitionLineOptions {
  readonly worker: number;
  readonly ringCapacity: number;
  /** Exchange connections that can reach the worker. */
  readonly ports: number;
}

export interface Snapshot {
  readonly snapshot: number;
  readonly bars: readonly Bar[];
}

interface Question {
  readonly id: number;
  readonly command: PartitionCommand;
  readonly resolve: (reply: PartitionReply) => void;
  readonly reject: (error: Error) => void;
  readonly deadline: NodeJS.Timeout;
}

const FRAMES = frameRing(1 << 21);
const IN_FLIGHT_MAX = 16;
const WAITING_MAX = 16_384;
const REPLIES_PER_TURN = 64;
const ANSWER_WITHIN_MS = 5_000;
const PARK_MS = 100;

function shared(shape: RingShape): SharedMemory {
  const memory = new SharedMemory(new SharedArrayBuffer(ringBytes(shape)));
  formatRing(memory, 0, shape);
  return memory;
}

export class PartitionLine {
  readonly worker: number;
  /** The memory of the worker's thread: its doorbell stays where exchanges know it. */
  readonly block = { buffer: new SharedArrayBuffer(THREAD_BLOCK_BYTES), at: 0 };
  readonly #ports: readonly SharedMemory[];
  readonly #portOf = new Map<string, number>();
  readonly #commands = shared(FRAMES);
  readonly #replies = shared(FRAMES);
  readonly #bell = new SharedMemory(new SharedArrayBuffer(DOORBELL_BYTES));
  readonly #workerBell = new Doorbell(new SharedMemory(this.block.buffer), THREAD_DOORBELL_BYTE);
  readonly #halves = [0, 1].map(() => new SharedArrayBuffer(BARS_DEFAULTS.outputRecords * BAR_RECORD_BYTES));
  readonly #waiting: Question[] = [];
  readonly #inFlight = new Map<number, Question>();
  #limits: BarsLimits = { ...BARS_DEFAULTS, intervals: ['1m'] };
  #asks: FrameProducer | undefined;
  #answers: FrameConsumer | undefined;
  #consumer: LoopConsumer | undefined;
  readonly #snapshots = new Turns();
  #nextId = 1;
  #highWater = 0;
  #snapshotAtMs = performance.now();
  /** What the worker last told of its troubles: holes that are open, symbols of which trades may be missing. */
  troubles = { holes: 0, doubts: 0 };

  constructor({ worker, ringCapacity, ports }: PartitionLineOptions) {
    this.worker = worker;
    const shape = recordRing(2 ** Math.ceil(Math.log2(ringCapacity)), TRADE_BYTES);
    this.#ports = Array.from({ length: ports }, () => shared(shape));
  }

  /** What a new life of the worker gets. Questions to the life before it are lost, trades that wait are not. */
  begin(intervals: readonly string[], readers: readonly Reader[]): PartitionArgs {
    this.#limits = { ...BARS_DEFAULTS, intervals, readers };
    this.#abandon();
    for (const memory of [this.#commands, this.#replies]) formatRing(memory, 0, FRAMES);
    this.#asks = new FrameProducer(this.#commands, 0, admitToRing(this.#commands, 0, 'producer'));
    this.#answers = new FrameConsumer(this.#replies, 0, admitToRing(this.#replies, 0, 'consumer'));
    const end = (memory: SharedMemory, side: 'producer' | 'consumer') => ({
      buffer: memory.buffer,
      at: 0,
      life: admitToRing(memory, 0, side),
    });
    return {
      limits: this.#limits,
      trades: this.#ports.map((memory) => end(memory, 'consumer')),
      commands: end(this.#commands, 'consumer'),
      replies: end(this.#replies, 'producer'),
      asker: { buffer: this.#bell.buffer, at: 0 },
      snapshots: [this.#halves[0]!, this.#halves[1]!],
    };
  }

  /** The ring by which a connection reaches the worker; undefined when all are taken by others. */
  edge(path: string): TradeEdge | undefined {
    const port = this.#portOf.get(path) ?? this.#portOf.size;
    const memory = this.#ports[port];
    if (memory === undefined) return undefined;
    this.#portOf.set(path, port);
    const bell = { buffer: this.block.buffer, at: THREAD_DOORBELL_BYTE };
    return { worker: this.worker, buffer: memory.buffer, at: 0, bell };
  }

  /** Trades that wait for the worker. */
  get ringDepth(): number {
    return this.#ports.reduce((sum, memory) => sum + inspectRing(memory, 0).used, 0);
  }

  /** Looked at a few times a second. */
  noteDepth(): void {
    this.#highWater = Math.max(this.#highWater, this.ringDepth);
  }

  /** The most that were seen waiting. */
  get ringHighWater(): number {
    return Math.max(this.#highWater, this.ringDepth);
  }

  /** Since the worker last handed over its changed bars. */
  get snapshotAgeMs(): number {
    return performance.now() - this.#snapshotAtMs;
  }

  noteTroubles(troubles: readonly Trouble[]): void {
    this.troubles = {
      holes: troubles.reduce((sum, { holes }) => sum + holes.length, 0),
      doubts: troubles.filter(({ suspectFromUs }) => suspectFromUs !== undefined).length,
    };
  }

  /** Rejects with TW_KLINE_WORKER_SILENT when no answer comes; a refusal is an answer. */
  ask(command: PartitionCommand, withinMs = ANSWER_WITHIN_MS): Promise<PartitionReply> {
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(this.#silent(command, 'too many commands wait'));
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      // An answer that a stopped worker will never give must not hold up the end of the program.
      const deadline = setTimeout(() => this.#expire(id), withinMs).unref();
      this.#waiting.push({ id, command, resolve, reject, deadline });
      this.#send();
    });
  }

  /** Changed bars. One at a time: the memory that they come in is written again by the snapshot after the next. */
  snapshot(reader: SnapshotReader): Promise<Snapshot> {
    return this.#snapshots.take(() => this.#snapshot(reader));
  }

  async #snapshot(reader: SnapshotReader): Promise<Snapshot> {
    const reply = await this.ask({ kind: 'snapshot', reader });
    if (reply.kind !== 'snapshot') return { snapshot: 0, bars: [] };
    this.#snapshotAtMs = performance.now();
    const records = new Uint8Array(this.#halves[reply.half]!, 0, reply.records * BAR_RECORD_BYTES);
    return { snapshot: reply.snapshot, bars: barsOf(records, compileIntervals(this.#limits.intervals)) };
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#inFlight.size < IN_FLIGHT_MAX && this.#asks !== undefined) {
      const question = this.#waiting[0]!;
      const code = this.#asks.offer(encodeNumbered({ id: question.id, message: question.command }));
      if (code === NO_ROOM) break;
      this.#waiting.shift();
      if (code < 0) this.#settle(question).reject(this.#silent(question.command, 'it is too long for the ring'));
      else this.#inFlight.set(question.id, question);
    }
    this.#workerBell.ring();
    if (this.#inFlight.size > 0) this.#listen();
  }

  /** Listens only while an answer is due: a program that stops has nothing left to close. */
  #listen(): void {
    this.#consumer ??= new LoopConsumer(this.#bell, 0, () => this.#collect(), {
      pollMs: 0,
      parkMs: PARK_MS,
      isBackground: true,
      onError: () => this.#abandon(),
    });
  }

  #collect(): number {
    const handled =
      this.#answers?.drain((offset, length) => {
        const frame = this.#replies.bytes.slice(offset, offset + length);
        const { id, message } = decodeNumbered<PartitionReply>(frame);
        const question = this.#inFlight.get(id);
        if (question === undefined) return;
        this.#inFlight.delete(id);
        this.#settle(question).resolve(message);
      }, REPLIES_PER_TURN) ?? 0;
    if (handled > 0) this.#send();
    this.#restIfIdle();
    return handled;
  }

  #restIfIdle(): void {
    if (this.#inFlight.size > 0) return;
    this.#consumer?.close();
    this.#consumer = undefined;
  }

  #expire(id: number): void {
    const at = this.#waiting.findIndex((question) => question.id === id);
    const question = at < 0 ? this.#inFlight.get(id) : this.#waiting.splice(at, 1)[0];
    this.#inFlight.delete(id);
    question?.reject(this.#silent(question.command, 'no answer came in time'));
    this.#restIfIdle();
  }

  #abandon(): void {
    for (const question of this.#inFlight.values()) {
      this.#settle(question).reject(this.#silent(question.command, 'the worker ended'));
    }
    this.#inFlight.clear();
    this.#restIfIdle();
  }

  #settle(question: Question): Question {
    clearTimeout(question.deadline);
    return question;
  }

  #silent({ kind }: PartitionCommand, why: string): TapeworksError {
    const message = `worker ${this.worker} did not answer ${kind}: ${why}`;
    return new TapeworksError('TW_KLINE_WORKER_SILENT', message, { worker: this.worker, kind });
  }
}
