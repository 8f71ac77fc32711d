import type { Scenario } from './explorer.ts';
import type { Mailboxes } from './mailboxes.ts';
import * as parking from './parking-scenarios.ts';
import * as ring from './ring-scenarios.ts';
import * as slot from './slot-scenarios.ts';

/** Every promise that is tried in all orders, by its name. */
export const SCENARIOS = {
  'a ring keeps order and content': (boxes) => ring.offersAndDrains(boxes, { capacity: 2, records: 3, drains: 3 }),
  'a ring keeps them across the wrap of signed counters': (boxes) =>
    ring.offersAndDrains(boxes, { capacity: 2, firstPosition: 0x7fff_ffff, records: 3, drains: 3 }),
  'a ring keeps them across the wrap of unsigned counters': (boxes) =>
    ring.offersAndDrains(boxes, { capacity: 2, firstPosition: -1, records: 3, drains: 3 }),
  'a ring gives room back': (boxes) => ring.waitsForRoom(boxes, 4),
  'a ring takes records again after it was full': ring.takesAgainAfterFull,
  'a ring shows batches as a whole': ring.publishesBatches,
  'a ring fences off earlier producers': ring.fencesEarlierLives,
  'a ring survives the death of its producer': ring.survivesProducerDeath,
  'a ring survives the death of its consumer': ring.survivesConsumerDeath,
  'frames pass the end of the ring': (boxes) => ring.framesPassTheEnd(boxes, 0),
  'frames pass the end and the wrap at once': (boxes) => ring.framesPassTheEnd(boxes, -4),
  'a slot gives the latest value': (boxes) => slot.latestWins(boxes, 3, 3),
  'a slot fences off earlier writers': slot.fencesEarlierWriters,
  'a slot survives the death of its writer': (boxes) => slot.survivesDeath(boxes, 'writer'),
  'a slot survives the death of its reader': (boxes) => slot.survivesDeath(boxes, 'reader'),
  'a parked consumer is woken for every record': (boxes) => parking.wakesForEveryRecord(boxes, 0),
  'a consumer that spins first is woken too': (boxes) => parking.wakesForEveryRecord(boxes, 2),
  'a park that times out does no harm': (boxes) => parking.wakesForEveryRecord(boxes, 0, true),
  'several producers wake one consumer': parking.wakesForEveryProducer,
  'a stop is not slept through': parking.stopsWhileParking,
} as const satisfies Readonly<Record<string, (boxes: Mailboxes) => Scenario>>;

export type ScenarioName = keyof typeof SCENARIOS;
