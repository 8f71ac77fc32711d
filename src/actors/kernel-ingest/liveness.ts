import type { Accepted } from '../../protocols/envelope.ts';
import type { EventRow, Sender } from '../../protocols/ingest.ts';
import type { ModuleSight } from '../../protocols/ingest-snapshot.ts';

/** Of more connections than this, the one that was silent for the longest is forgotten. */
const SIGHTS_MAX = 1_000;

/** Which modules are alive, by what they send. Fed with every accepted message, in batches. */
export class Liveness {
  readonly #sights = new Map<string, ModuleSight>();

  see(rows: readonly EventRow[], nowMs: number): void {
    const counts = new Map<Sender, number>();
    for (const row of rows) {
      const sender = row.plain?.sender;
      if (sender === undefined) this.#hear(row.event, nowMs);
      else counts.set(sender, (counts.get(sender) ?? 0) + 1);
    }
    for (const [sender, events] of counts) this.#note(sender, events, nowMs, {});
  }

  #hear(event: Accepted, nowMs: number): void {
    const isHeartbeat = event.eventType === 'heartbeat';
    const isTelling = isHeartbeat || event.eventType === 'status';
    this.#note(event, 1, nowMs, {
      ...(isHeartbeat && { lastHeartbeatMs: nowMs }),
      ...(isTelling && { status: event.raw.toString('utf8', event.payloadStart, event.payloadEnd) }),
    });
  }

  #note({ source, connection }: Sender, events: number, nowMs: number, told: Partial<ModuleSight>): void {
    const key = connection === '' ? source : `${source}/${connection}`;
    const before = this.#sights.get(key);
    // Put at the end: the map is in the order in which they were last seen.
    this.#sights.delete(key);
    if (this.#sights.size >= SIGHTS_MAX) this.#sights.delete(this.#sights.keys().next().value!);
    this.#sights.set(key, {
      source,
      connection,
      lastHeartbeatMs: before?.lastHeartbeatMs,
      status: before?.status,
      ...told,
      lastSeenMs: nowMs,
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
