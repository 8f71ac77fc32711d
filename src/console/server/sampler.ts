import type { ActorHistory, ActorShape, ActorsMessage, ActorValues } from '../../protocols/console-api.ts';
import { VALUE } from '../../protocols/console-api.ts';
import { type ActorInfo, flatten } from '../../supervision/inspect.ts';
import type { ActorsSource } from '../sources.ts';
import { coresOf, sameShape, sameValues, shapeOf, valuesOf } from './actor-row.ts';

export const SAMPLE_PERIOD_MS = 1000;
/** Three minutes of samples an actor, 2 KB. */
const HISTORY_SAMPLES = 180;
const HISTORY_TRACKS = 3;

/** What the sampler remembers of an actor between two looks. */
interface Track {
  messages: number;
  perSecond: number;
  beats: number;
  beatMs: number;
  failure: unknown;
  failureAtMs: number | null;
  readonly history: Float32Array;
  samples: number;
}

/** Looks at the tree once a second: rates, histories, and what changed since the look before. */
export class ActorSampler {
  actors: readonly ActorInfo[] = [];
  shapes: readonly ActorShape[] = [];
  values: readonly ActorValues[] = [];
  /** Counts looks. */
  version = 0;
  sampledAtMs = 0;
  perSecond = 0;
  readonly #source: ActorsSource;
  readonly #tracks = new Map<string, Track>();
  #periodAtMs = 0;
  #changed: readonly (readonly [number, ActorValues])[] | undefined;
  #fullText: string | undefined;
  #deltaText: string | undefined;

  constructor(source: ActorsSource) {
    this.#source = source;
  }

  /** The look of each period: rates and histories count from one to the next. */
  sample(nowMs: number): void {
    const elapsedSeconds = Math.max(0.001, (nowMs - this.#periodAtMs) / 1000);
    const isFirst = this.#periodAtMs === 0;
    this.#periodAtMs = nowMs;
    this.#look(nowMs, (track, info) => {
      // A new life on another thread counts from zero again.
      const handled = info.messages >= track.messages ? info.messages - track.messages : info.messages;
      track.messages = info.messages;
      track.perSecond = isFirst ? 0 : handled / elapsedSeconds;
    });
    this.values.forEach((row, at) => {
      remember(this.#tracks.get(this.shapes[at]!.path)!, row);
    });
  }

  /** A look in between, when something happened that should be seen soon. */
  glance(nowMs: number): void {
    this.#look(nowMs, () => {});
  }

  #look(nowMs: number, measure: (track: Track, info: ActorInfo) => void): void {
    const actors = flatten(this.#source.tree());
    const cores = coresOf(actors);
    const shapes = actors.map((info) => shapeOf(info, cores));
    let total = 0;
    const values = actors.map((info) => {
      const track = this.#trackOf(info, nowMs);
      measure(track, info);
      total += track.perSecond;
      return valuesOf(info, track.perSecond, track.failureAtMs);
    });
    this.#forgetGone(actors);
    this.#changed = this.#changesTo(shapes, values);
    Object.assign(this, { actors, shapes, values });
    this.version++;
    this.perSecond = total;
    this.sampledAtMs = nowMs;
    this.#fullText = undefined;
    this.#deltaText = undefined;
  }

  /** The message that brings a reader of that version up to date, as JSON: made once, however many read it. */
  messageFor(version: number): string | undefined {
    if (version === this.version) return undefined;
    if (version !== this.version - 1 || this.#changed === undefined) return this.fullMessage();
    if (this.#changed.length === 0) return undefined;
    const delta: ActorsMessage = { kind: 'delta', version: this.version, changed: this.#changed };
    this.#deltaText ??= JSON.stringify(delta);
    return this.#deltaText;
  }

  fullMessage(): string {
    const { version, shapes, values } = this;
    const full: ActorsMessage = { kind: 'full', version, shapes, values };
    this.#fullText ??= JSON.stringify(full);
    return this.#fullText;
  }

  indexOf(path: string): number {
    return this.shapes.findIndex((shape) => shape.path === path);
  }

  historyOf(path: string): ActorHistory {
    const track = this.#tracks.get(path);
    const count = Math.min(track?.samples ?? 0, HISTORY_SAMPLES);
    const start = (track?.samples ?? 0) - count;
    const of = (which: number) =>
      Array.from(
        { length: count },
        (_, at) => track!.history[((start + at) % HISTORY_SAMPLES) * HISTORY_TRACKS + which]!,
      );
    const tracks = { perSecond: of(0), depth: of(1), workP99Us: of(2) };
    return { periodMs: SAMPLE_PERIOD_MS, endAtMs: this.sampledAtMs, ...tracks };
  }

  /** Time since the thread's heartbeat was seen to move. */
  beatAgeMs(path: string): number {
    return this.sampledAtMs - (this.#tracks.get(path)?.beatMs ?? this.sampledAtMs);
  }

  #trackOf(info: ActorInfo, nowMs: number): Track {
    const failure = info.lastFailure === undefined ? '' : `${info.lastFailure.atMs} ${info.lastFailure.message}`;
    const known = this.#tracks.get(info.path);
    const beats = info.threadInfo?.beats ?? 0;
    if (known === undefined) {
      const history = new Float32Array(HISTORY_SAMPLES * HISTORY_TRACKS);
      const failureAtMs = failure === '' ? null : nowMs;
      const track = {
        messages: info.messages,
        perSecond: 0,
        beats,
        beatMs: nowMs,
        failure,
        failureAtMs,
        history,
        samples: 0,
      };
      this.#tracks.set(info.path, track);
      return track;
    }
    if (known.beats !== beats) Object.assign(known, { beats, beatMs: nowMs });
    if (known.failure !== failure) Object.assign(known, { failure, failureAtMs: failure === '' ? null : nowMs });
    return known;
  }

  #forgetGone(actors: readonly ActorInfo[]): void {
    if (this.#tracks.size === actors.length) return;
    const paths = new Set(actors.map((info) => info.path));
    for (const path of this.#tracks.keys()) if (!paths.has(path)) this.#tracks.delete(path);
  }

  /** Undefined when the tree itself has another shape. */
  #changesTo(
    shapes: readonly ActorShape[],
    values: readonly ActorValues[],
  ): readonly (readonly [number, ActorValues])[] | undefined {
    const isSame =
      shapes.length === this.shapes.length && shapes.every((shape, at) => sameShape(shape, this.shapes[at]!));
    if (!isSame) return undefined;
    return values.flatMap((row, at) => (sameValues(row, this.values[at]!) ? [] : [[at, row] as const]));
  }
}

function remember(track: Track, row: ActorValues): void {
  const at = (track.samples % HISTORY_SAMPLES) * HISTORY_TRACKS;
  track.history[at] = row[VALUE.perSecond];
  track.history[at + 1] = row[VALUE.depth];
  track.history[at + 2] = row[VALUE.workP99] ?? 0;
  track.samples++;
}
