// The ingest plane: spill, sink and one reader a stream shard, all on one loop thread, and what the main thread knows of
// them. It stands on Redis; without it the plane is left out. Without Postgres it runs and spills.
import { Redis } from 'ioredis';
import type { KernelIngestArgs, KernelIngestTick, LanePosting } from '../actors/kernel-ingest/actor.ts';
import { DeadLetterBox } from '../actors/kernel-ingest/dead-letter-box.ts';
import { renderIngestMetrics } from '../actors/kernel-ingest/metrics.ts';
import type { SinkArgs } from '../actors/sink/actor.ts';
import type { IngestSource } from '../console/sources.ts';
import type { HealthPart } from '../protocols/console-api.ts';
import type { SpillSettings, TopologyNode } from '../protocols/topology.ts';
import { threadedActor } from '../supervision/remote/threaded-actor.ts';
import type { Board } from './board.ts';
import { ingestView } from './ingest-view.ts';
import type { Factories, Place } from './tree-host.ts';

export interface IngestPlaneOptions {
  readonly redisUrl: string;
  /** Where Postgres would be; while nobody answers there the readers spill. */
  readonly postgresUrl: string;
  readonly connectTimeoutMs: number;
  readonly drainMs: number;
  readonly board: Board<LanePosting>;
  readonly spill: () => SpillSettings;
}

const LET_GO_MS = 1_000;
const STATUS_OF = { green: 'OK', yellow: 'DEGRADED', red: 'DEGRADED' } as const;

export class IngestPlane {
  readonly factories: Pick<Factories, 'spill' | 'sink' | 'kernel-ingest'>;
  readonly #options: IngestPlaneOptions;
  readonly #readers = new Map<string, TopologyNode<'kernel-ingest'>>();
  readonly #rates = new Map<string, { added: number; atMs: number; perSecond: number }>();
  #redis: Redis | undefined;

  constructor(options: IngestPlaneOptions) {
    this.#options = options;
    this.factories = {
      spill: (node, place) => ({
        spec: this.#actor(place, node, '../actors/spill/actor.js', 'spill', () => ({ settings: options.spill() })),
      }),
      sink: (node, place) => ({
        spec: this.#actor(place, node, '../actors/sink/actor.js', 'sink', (): SinkArgs => {
          const { postgresUrl, redisUrl, connectTimeoutMs } = options;
          return { settings: node.settings, postgresUrl, redisUrl, connectTimeoutMs };
        }),
      }),
      'kernel-ingest': (node, place) => this.#reader(node, place),
    };
  }

  #reader(node: TopologyNode<'kernel-ingest'>, place: Place) {
    const { redisUrl, connectTimeoutMs, drainMs, board } = this.#options;
    this.#readers.set(node.path, node);
    const args = (): KernelIngestArgs => ({
      ...{ settings: node.settings, redisUrl, connectTimeoutMs, drainMs, statusTo: board.spec.ref },
    });
    return {
      spec: this.#actor(place, node, '../actors/kernel-ingest/actor.js', 'kernelIngest', args),
      onStopped: () => {
        this.#readers.delete(node.path);
        board.forget(node.path);
      },
    };
  }

  #actor(place: Place, node: TopologyNode, module: string, exportName: string, args: () => unknown) {
    return threadedActor<KernelIngestTick>({
      ...{ id: place.id, backoff: place.backoff, thread: place.thread!, exportName, args },
      module: new URL(module, import.meta.url),
      // A reader may drain for so long, and then needs a moment to let go.
      shutdown: Math.max(node.supervision.shutdownMs, this.#options.drainMs + LET_GO_MS),
      mailbox: node.supervision.mailbox,
    });
  }

  /** Health of each stream, in the words of its lane. */
  health(): HealthPart[] {
    const lanes = this.#options.board.all().map(({ lane }) => lane);
    if (lanes.length === 0) return [];
    const worst = (['red', 'yellow'] as const).find((state) => lanes.some(({ health }) => health.state === state));
    const reason = lanes.flatMap(({ stream, health }) => health.reasons.map((why) => `${stream}: ${why}`)).join('; ');
    return [{ name: 'ingest', status: STATUS_OF[worst ?? 'green'], reason }];
  }

  metrics(): Promise<string> {
    const postings = this.#options.board.all();
    const republish = postings[0]?.republish ?? { published: 0, dropped: 0, waiting: 0 };
    return renderIngestMetrics({ lanes: postings.map(({ lane }) => lane), republish });
  }

  /** What the dashboard shows of it. */
  source(): IngestSource {
    return {
      view: () =>
        ingestView(
          this.#options.board.all().map(({ lane }) => lane),
          [...this.#readers.values()].flatMap(({ settings }) =>
            settings.modules.map((module) => ({ ...module, stream: settings.stream })),
          ),
          this.#options.spill().maxBytes,
          (stream, added) => this.#rateOf(stream, added),
        ),
      deadLetters: async (limit) => {
        const boxes = await Promise.all(this.#boxes().map((box) => box.newest(limit)));
        return boxes
          .flat()
          .sort((a, b) => b.atMs - a.atMs)
          .slice(0, limit)
          .map(({ id, atMs, stream, entryId, stage, code, path, reason, raw }) => ({
            ...{ id, atMs, stream, entryId, stage, code, path, reason },
            raw: raw.toString('utf8', 0, RAW_SHOWN_BYTES),
          }));
      },
      retry: (ids) => this.#retry(ids),
    };
  }

  /** Events a second since the last look that was at least a second ago. */
  #rateOf(stream: string, added: number): number {
    const nowMs = performance.now();
    const last = this.#rates.get(stream);
    if (last !== undefined && nowMs - last.atMs < 1000) return last.perSecond;
    const perSecond = last === undefined ? 0 : Math.round(((added - last.added) * 1000) / (nowMs - last.atMs));
    this.#rates.set(stream, { added, atMs: nowMs, perSecond });
    return perSecond;
  }

  async #retry(ids: readonly string[]) {
    const retried: string[] = [];
    const refused: { id: string; reason: string }[] = [];
    for (const id of ids) {
      const found = await Promise.all(this.#boxes().map(async (box) => ({ box, letter: await box.find(id) })));
      const hit = found.find(({ letter }) => letter !== undefined);
      if (hit?.letter === undefined) refused.push({ id, reason: 'there is no such dead letter' });
      else {
        const objection = hit.box.objection(hit.letter, hit.letter.raw);
        if (objection !== undefined) refused.push({ id, reason: objection });
        else if (await hit.box.retry(hit.letter)) retried.push(id);
        else refused.push({ id, reason: 'Redis did not take it' });
      }
    }
    return { retried, refused };
  }

  #boxes(): DeadLetterBox[] {
    this.#redis ??= new Redis(this.#options.redisUrl, { maxRetriesPerRequest: 1, protocol: 2 }).on('error', () => {});
    const readers = [...this.#readers.values()].map(({ settings }) => settings);
    const names = new Set(readers.map(({ deadLetterStream }) => deadLetterStream));
    const limitsOf = (stream: string) => readers.find((reader) => reader.stream === stream);
    return [...names].map((name) => new DeadLetterBox(this.#redis!, name, limitsOf));
  }

  close(): void {
    this.#redis?.disconnect();
  }
}

const RAW_SHOWN_BYTES = 400;
