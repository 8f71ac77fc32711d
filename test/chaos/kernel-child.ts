// The kernel's ingest plane as a process of its own, to be killed. Its orders come in the environment:
//   CHAOS_KERNEL   JSON of KernelOrders
// It writes what it counted to a file ten times a second, so that the counts outlive it.
import { renameSync, writeFileSync } from 'node:fs';
import { IngestPlane } from '../../src/actors/kernel-ingest/plane.ts';
import { readerSettings, sinkSettings, spillSettings } from '../ingest/settings.ts';
import type { KernelOrders } from './kernel.ts';

const orders = JSON.parse(process.env['CHAOS_KERNEL'] ?? '{}') as KernelOrders;
let hitsLeft = orders.killAt?.hits ?? 0;

let plane: IngestPlane | undefined;
plane = await IngestPlane.start({
  redisUrl: orders.redisUrl,
  postgresUrl: orders.postgresUrl,
  connectTimeoutMs: 1_000,
  readers: orders.streams.map((stream) =>
    readerSettings(stream, {
      ...{ deadLetterStream: 'dlq', readCount: 200, readBlockMs: 300, inFlightMessages: 5_000 },
      ...{ claimIdleMs: 1_000, claimEveryMs: 300, trimAfterMs: 1_000, trimEveryMs: 500, poisonAfter: 8 },
      ...orders.reader,
    }),
  ),
  sink: sinkSettings({
    ...{ batchRows: 500, batchTimeMs: 10, statementTimeoutMs: 1_500, queryTimeoutMs: 2_000, lockTimeoutMs: 500 },
    breaker: { failures: 2, probeMinMs: 100, probeMaxMs: 500 },
  }),
  spill: spillSettings(orders.spillFolder, { segmentBytes: 128 * 1024, ...orders.spill }),
  reached(point) {
    if (point === orders.killAt?.point && --hitsLeft <= 0) {
      note();
      process.kill(process.pid, 'SIGKILL');
      // The signal may take a moment to arrive; nothing may happen after the point.
      for (;;);
    }
  },
  warn: (text) => process.stderr.write(`${text}\n`),
  failed(error) {
    process.stderr.write(`failed: ${error.stack}\n`);
    process.exit(3);
  },
});

function note(): void {
  if (plane === undefined) return;
  // Renamed into place: a reader sees the old notes or the new ones, whenever this process ends.
  writeFileSync(`${orders.notesFile}.new`, JSON.stringify({ health: plane.health, ...plane.snapshot() }));
  renameSync(`${orders.notesFile}.new`, orders.notesFile);
}
setInterval(note, 100);
note();
process.stdout.write('up\n');

process.once('SIGTERM', () => {
  void plane?.stop(8_000).then(() => {
    note();
    process.exit(0);
  });
});
