import { FINE_BUCKETS } from '../telemetry/buckets.ts';
import { COUNTER_BYTES, histogramBytes } from '../telemetry/layout.ts';
import { DOORBELL_BYTES } from './doorbell.ts';
import { SEPARATION_BYTES, SEPARATION_WORDS } from './layout.ts';

/**
 * The words through which a thread and its owner talk without messages. One block a thread, kept across its lives, so
 * that producers elsewhere can ring the same doorbell after a restart.
 *
 *   byte     0        4        8       12                                                            128
 *            +--------+------------------------------------------------------------------------------+
 *       0    | BEATS  |                        counts up while the thread makes progress             |
 *            +--------+------------------------------------------------------------------------------+
 *     128    | ORDER  |                        RUN or STOP, written by the owner                     |
 *            +--------+--------+--------+--------+--------+--------+---------+-----------------------+
 *     256    |DELAY   |DELAYMAX| BUSY   | GCS    | GC US  |HEAP KIB|LIMIT KIB|  of the event loop     |
 *            +--------+--------+--------+--------+--------+--------+---------+-----------------------+
 *     384    | doorbell                                                                              |
 *            +---------------------------------------------------------------------------------------+
 *     512    | counter: things that a duty cycle has handled                                         |
 *            +---------------------------------------------------------------------------------------+
 *     640    | histogram: nanoseconds for one of them, in FINE_BUCKETS, from a sample of the cycles  |
 *            +---------------------------------------------------------------------------------------+
 */
export const THREAD = {
  BEATS: 0,
  ORDER: SEPARATION_WORDS,
  LOOP_DELAY_MEAN_US: 2 * SEPARATION_WORDS,
  LOOP_DELAY_MAX_US: 2 * SEPARATION_WORDS + 1,
  LOOP_BUSY_PERMILLE: 2 * SEPARATION_WORDS + 2,
  LOOP_COLLECTIONS: 2 * SEPARATION_WORDS + 3,
  LOOP_COLLECTED_US: 2 * SEPARATION_WORDS + 4,
  LOOP_HEAP_USED_KIB: 2 * SEPARATION_WORDS + 5,
  LOOP_HEAP_LIMIT_KIB: 2 * SEPARATION_WORDS + 6,
} as const;
export const THREAD_DOORBELL_BYTE = 3 * SEPARATION_BYTES;
export const THREAD_HANDLED_BYTE = THREAD_DOORBELL_BYTE + DOORBELL_BYTES;
export const THREAD_PROCESSING_BYTE = THREAD_HANDLED_BYTE + COUNTER_BYTES;
export const THREAD_BLOCK_BYTES = THREAD_PROCESSING_BYTE + histogramBytes(FINE_BUCKETS.boundsNs.length);

export const ORDER_RUN = 0;
export const ORDER_STOP = 1;
