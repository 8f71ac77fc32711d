import { ACTOR_STATES, type ActorShape, type ActorValues, VALUE } from '../../protocols/console-api.ts';
import type { ActorInfo, LatencyInfo } from '../../supervision/inspect.ts';

const FAILURE_CHARACTERS_MAX = 200;

/** The cores that threads are pinned to, by the thread's name. */
export function coresOf(actors: readonly ActorInfo[]): ReadonlyMap<string, number> {
  const pinned = actors.flatMap(({ threadInfo }) =>
    threadInfo?.cpu !== undefined && threadInfo.pinnedBy !== 'unpinned'
      ? [[threadInfo.name, threadInfo.cpu] as const]
      : [],
  );
  return new Map(pinned);
}

export function shapeOf(info: ActorInfo, cores: ReadonlyMap<string, number>): ActorShape {
  return {
    path: info.path,
    kind: info.kind,
    thread: info.thread,
    core: cores.get(info.thread) ?? null,
    capacity: info.mailbox?.capacity ?? null,
    policy: info.mailbox?.policy ?? null,
  };
}

export function valuesOf(info: ActorInfo, perSecond: number, failureAtMs: number | null): ActorValues {
  return [
    ACTOR_STATES.indexOf(info.state),
    info.mailbox?.depth ?? 0,
    info.mailbox?.highWater ?? 0,
    info.messages,
    threeDigits(perSecond),
    ...microseconds(info.waitMs),
    ...microseconds(info.processingMs),
    info.restarts,
    droppedBy(info),
    info.lastFailure === undefined ? null : info.lastFailure.message.slice(0, FAILURE_CHARACTERS_MAX),
    failureAtMs,
  ];
}

function droppedBy({ mailbox }: ActorInfo): number {
  return mailbox === undefined ? 0 : mailbox.rejected + mailbox.droppedOldest + mailbox.droppedNewest;
}

export function sameShape(one: ActorShape, two: ActorShape): boolean {
  return (
    one.path === two.path &&
    one.thread === two.thread &&
    one.core === two.core &&
    one.kind === two.kind &&
    one.capacity === two.capacity &&
    one.policy === two.policy
  );
}

export function sameValues(one: ActorValues, two: ActorValues): boolean {
  return one.every((value, at) => value === two[at]);
}

function microseconds(latency: LatencyInfo | undefined): [number | null, number | null] {
  return latency === undefined ? [null, null] : [threeDigits(latency.p50 * 1000), threeDigits(latency.p99 * 1000)];
}

function threeDigits(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

export const isRunning = (values: ActorValues) => values[VALUE.state] === ACTOR_STATES.indexOf('running');
