import type { Accepted } from '../../protocols/envelope.ts';
import type { EventRow } from '../../protocols/ingest.ts';
import type { ModuleSight } from '../../protocols/ingest-snapshot.ts';

/** More connections than this are not remembered one by one. */
const SIGHTS_MAX = 1_000;

/** Which modules are alive, by what they send. Fed with every accepted message, in batches. */
export class Liveness {
  readonly #sights = new Map<string, ModuleSight>();

  /** Rows of one connection come in runs, so a run is noted at once. */
  see(rows: readonly EventRow[], nowMs: number): void {
    for (let at = 0; at < rows.length; ) {
      const { event } = rows[at]!;
      let next = at + 1;
      while (next < rows.length && isAlike(rows[next]!.event, event)) next++;
      this.#note(rows[next - 1]!.event, next - at, nowMs);
      at = next;
    }
  }

  #note(event: Accepted, events: number, nowMs: number): void {
    const key = event.connection === '' ? event.source : `${event.source}/${event.connection}`;
    const before = this.#sights.get(key);
    if (before === undefined && this.#sights.size >= SIGHTS_MAX) return;
    this.#sights.set(key, {
      source: event.source,
      connection: event.connection,
      lastSeenMs: nowMs,
      lastHeartbeatMs: event.eventType === 'heartbeat' ? nowMs : before?.lastHeartbeatMs,
      status: isTelling(event) ? event.raw.toString('utf8', event.payloadStart, event.payloadEnd) : before?.status,
      events: (before?.events ?? 0) + events,
    });
  }

  sights(): readonly ModuleSight[] {
    return [...this.#sights.values()];
  }

  /** Modules that were promised in the configuration and have been silent for too long. */
  silent(
    modules: readonly { readonly name: string; readonly silentAfterMs: number }[],
    nowMs: number,
    sinceMs: number,
  ): readonly string[] {
    const sights = this.sights();
    return modules
      .filter(({ name, silentAfterMs }) => {
        const seen = sights.filter(({ source }) => source === name).map(({ lastSeenMs }) => lastSeenMs);
        return nowMs - Math.max(sinceMs, ...seen) > silentAfterMs;
      })
      .map(({ name }) => name);
  }
}

const isTelling = ({ eventType }: Accepted) => eventType === 'heartbeat' || eventType === 'status';

function isAlike(one: Accepted, other: Accepted): boolean {
  return one.connection === other.connection && one.source === other.source && !isTelling(one) && !isTelling(other);
}
