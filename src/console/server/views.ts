import type * as api from '../../protocols/console-api.ts';
import { ACTOR_STATES, VALUE } from '../../protocols/console-api.ts';
import type { ActorInfo } from '../../supervision/inspect.ts';
import type { ConsoleSources } from '../sources.ts';
import { isRunning } from './actor-row.ts';
import type { EventLog } from './event-log.ts';
import type { ActorSampler } from './sampler.ts';
import type { ThreadSampler } from './thread-sampler.ts';

/** Failures are worth a line on top for so long. */
const RECENT_MS = 60_000;
const PROBLEMS_MAX = 8;
const MAILBOX_FULL_SHARE = 0.8;

export function pulseOf(
  sources: ConsoleSources,
  sampler: ActorSampler,
  events: EventLog,
  options: { readonly control: boolean; readonly startedAtMs: number },
): api.Pulse {
  const { shapes, values, sampledAtMs: atMs } = sampler;
  const isOfInterest = (at: number) => shapes[at]!.kind !== 'supervisor';
  const health = sources.health();
  return {
    atMs,
    uptimeMs: atMs - options.startedAtMs,
    control: options.control,
    simulated: sources.isSimulated,
    status: health.status,
    parts: health.parts,
    pages: pagesOf(sources),
    problems: problemsOf(health, sampler, events).slice(0, PROBLEMS_MAX),
    actors: {
      running: values.filter((row, at) => isOfInterest(at) && isRunning(row)).length,
      total: values.filter((_, at) => isOfInterest(at)).length,
    },
    messagesPerSecond: Math.round(sampler.perSecond),
  };
}

function pagesOf(sources: ConsoleSources): readonly api.PageName[] {
  const optional = (['books', 'bars', 'ingest', 'topology'] as const).filter((name) => sources[name] !== undefined);
  return ['actors', 'threads', ...optional];
}

function problemsOf(health: api.HealthView, sampler: ActorSampler, events: EventLog): readonly api.Problem[] {
  const ofParts = health.parts
    .filter((part) => part.status !== 'OK')
    .map((part) => ({
      severity: part.status === 'DOWN' ? ('critical' as const) : ('warning' as const),
      text: `${part.name}: ${part.reason || part.status.toLowerCase()}`,
      page: pageFor(part.name),
      subject: '',
    }));
  const all = [...ofParts, ...ofActors(sampler), ...recentFailures(sampler, events)];
  // The worst first; a stable sort leaves the parts before the actors that explain them.
  const rank = ({ severity }: api.Problem) => (severity === 'critical' ? 0 : 1);
  return all.sort((one, two) => rank(one) - rank(two));
}

function pageFor(part: string): api.PageName {
  if (/ingest|spill|postgres|redis|sink|module/i.test(part)) return 'ingest';
  if (/book|feed|venue|merger/i.test(part)) return 'books';
  return /bar|kline|k-line/i.test(part) ? 'bars' : 'actors';
}

function ofActors({ shapes, values }: ActorSampler): readonly api.Problem[] {
  return values.flatMap((row, at) => {
    const { path, capacity, policy } = shapes[at]!;
    const problem = (severity: api.Problem['severity'], text: string): api.Problem[] => [
      { severity, text, page: 'actors', subject: path },
    ];
    const state = ACTOR_STATES[row[VALUE.state]];
    if (state === 'failed') return problem('critical', `${path} is down: ${row[VALUE.failure] ?? 'no reason given'}`);
    if (state === 'suspended') return problem('warning', `${path} is suspended${waiting(row[VALUE.depth])}`);
    const isFull = capacity !== null && capacity > 1 && row[VALUE.depth] >= capacity * MAILBOX_FULL_SHARE;
    return isFull
      ? problem('warning', `${path} has ${row[VALUE.depth]} of ${capacity} messages waiting (${policy})`)
      : [];
  });
}

const waiting = (depth: number) => (depth === 0 ? '' : `, ${depth} ${depth === 1 ? 'message waits' : 'messages wait'}`);

function recentFailures(sampler: ActorSampler, events: EventLog): readonly api.Problem[] {
  const counts = new Map<string, number>();
  for (const { path } of events.failuresSince(sampler.sampledAtMs - RECENT_MS)) {
    counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  const isUp = (path: string) => {
    const at = sampler.indexOf(path);
    return at >= 0 && isRunning(sampler.values[at]!);
  };
  return [...counts]
    .filter(([path]) => isUp(path))
    .map(([path, count]) => ({
      severity: 'warning',
      text: `${path} failed ${count === 1 ? 'once' : `${count} times`} in the last minute and was restarted`,
      page: 'actors',
      subject: path,
    }));
}

/** The main thread first, then the others in the order of the tree. */
export function threadsOf(sampler: ActorSampler, threads: ThreadSampler): readonly api.ThreadView[] {
  const actorsOn = (name: string) =>
    sampler.shapes.filter((shape) => shape.thread === name && shape.kind === 'actor').map((shape) => shape.path);
  const main: api.ThreadView = {
    ...{ name: 'main', kind: 'main', state: 'running', tid: process.pid, core: null, observedCpus: '', pinnedBy: null },
    ...threads.main(),
    ...{ beatAgeMs: 0, restarts: 0, actors: actorsOn('main') },
  };
  const others = sampler.actors.flatMap((info) => threadOf(info, sampler, threads, actorsOn(info.thread)));
  return [main, ...others];
}

function threadOf(
  info: ActorInfo,
  sampler: ActorSampler,
  threads: ThreadSampler,
  actors: readonly string[],
): readonly api.ThreadView[] {
  const { threadInfo } = info;
  if (threadInfo === undefined) return [];
  const { name, kind, tid, cpu, observedCpus, pinnedBy } = threadInfo;
  return [
    {
      ...{ name, kind, state: info.state, tid, observedCpus },
      core: cpu ?? null,
      pinnedBy: pinnedBy ?? null,
      ...threads.of(info.path),
      beatAgeMs: sampler.beatAgeMs(info.path),
      restarts: info.restarts,
      actors: kind === 'pinned' ? [info.path] : actors,
    },
  ];
}
