import type { ErrorEntry } from './index.ts';

export const KLINE_ERRORS = {
  TW_KLINE_INTERVALS: {
    means: 'The configured K-line intervals are empty, unknown, or cannot be built from the shortest of them.',
    remedy:
      'Use names from the list in the message; to serve 3d, 1w or 1M bars, add 1d or a shorter interval that divides a day.',
  },
  TW_KLINE_DECIMAL: {
    means: 'A number from a venue or the database is not a plain decimal of the expected precision.',
    remedy: 'Look at the raw answer in the log; a venue that changed its precision needs its wire facts updated.',
  },
  TW_KLINE_LIMITS: {
    means: 'The limits of a partition worker do not fit together or do not fit into memory.',
    remedy: 'Lower `symbols_max` or the ring depths of the worker, or spread its symbols over more workers.',
  },
  TW_KLINE_WORKER_FULL: {
    means: 'A partition worker was given a symbol beyond its limit.',
    remedy: 'Raise `symbols_max` or add a partition worker to the topology.',
  },
  TW_KLINE_HANDOFF: {
    means: 'The state of a symbol that moves between partition workers does not fit the worker that receives it.',
    remedy: 'Give both workers the same intervals and ring depths; the symbol stays with its old worker.',
  },
  TW_KLINE_WORKER_SILENT: {
    means: 'A partition worker did not answer a command: it took too long, ended meanwhile, or too many were waiting.',
    remedy: 'The command is given again when the worker is back; if it stays silent, see /klines in the actor tree.',
  },
  TW_KLINE_NO_STREAM_LEFT: {
    means:
      'Symbols were found at run time, and every connection of their venue has as many streams as the venue allows.',
    remedy: 'Raise `feeds.VENUE.connections` in topology.yaml, or exclude symbols with `klines.symbols.exclude`.',
  },
  TW_KLINE_BACKFILL_VENUE: {
    means: 'The venue did not give the bars of a history that is being filled.',
    remedy: 'Check the symbol and the address given with --rest; the same command goes on where it stopped.',
  },
  TW_KLINE_AUDIT_VENUE: {
    means: 'The venue did not give its own bars, so there is nothing to compare with.',
    remedy: 'Check the address given with --rest and that the venue lists the symbol; after a ban, wait and try again.',
  },
} as const satisfies Record<string, ErrorEntry>;
