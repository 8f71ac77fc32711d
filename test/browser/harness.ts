import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consoleBehaviour } from '../../src/console/actor.ts';
import type { HealthView } from '../../src/protocols/console-api.ts';
import { loopThread } from '../../src/supervision/remote/loop-thread-child.ts';
import { threadedActor } from '../../src/supervision/remote/threaded-actor.ts';
import { actor } from '../../src/supervision/spec.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import type { ProbeMessage } from '../threads/probe-actor.ts';
import { childrenOf, demoTopology, type Refs, shippedTopology } from './demo-topology.ts';

const TOKEN = 'a-token-for-the-browser-tests-only';

/** A running system as the browser tests need it; the tests know nothing else of it. */
export interface Harness {
  readonly url: string;
  readonly token: string;
  /** Makes an actor crash as a defect would. */
  crash(path: string): void;
  health: HealthView;
  stop(): Promise<void>;
}

export interface DemoOptions {
  readonly port?: number;
  readonly control?: boolean;
  /** Further actors, for measuring. */
  readonly extraActors?: number;
}

const WELL: HealthView = {
  status: 'OK',
  parts: ['control', 'order books', 'K-lines', 'ingest'].map((name) => ({ name, status: 'OK', reason: '' })),
};

/** A real actor system in the shape of the shipped topology, with a console on a free port. */
export async function startDemo({ port = 0, control = true, extraActors = 0 }: DemoOptions = {}): Promise<Harness> {
  const tokenFile = join(mkdtempSync(join(tmpdir(), 'tapeworks-browser-')), 'token');
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  const refs: Refs = new Map();
  const shipped = shippedTopology();
  let url = '';
  const thread = loopThread({ id: 'worker' });
  const probe = threadedActor<ProbeMessage>({
    ...{ id: 'probe', thread, args: () => ({}), exportName: 'probe' },
    module: new URL('../threads/probe-actor.js', import.meta.url),
  });
  const crowd = Array.from({ length: extraActors }, (_, at) =>
    childrenOf('/crowd', [{ ...shipped.tree.nodes[1]!, path: `/crowd/actor-${at}`, kind: 'watchdog' }], refs),
  ).flat();
  const harness = { health: WELL } as { health: HealthView };
  const settings = {
    ...{
      host: '127.0.0.1',
      port,
      tls: null,
      tokenFile,
      allowedHosts: [],
      control,
      metrics: true,
      labelValuesMax: 1000,
    },
    ...{ maxConnections: 200, maxDashboards: 50, maxBodyBytes: 2 ** 20, requestTimeoutMs: 10_000 },
  };
  const console = actor<never, unknown>({
    id: 'dashboard',
    behaviour: consoleBehaviour(
      settings,
      {
        actors: {
          tree: () => system.tree(),
          get events() {
            return system.events;
          },
          get deadLetters() {
            return system.deadLetters;
          },
          summary: (path) => system.summary(path),
          restart: (path) => system.restart(path),
          suspend: (path) => system.suspend(path),
          resume: (path) => system.resume(path),
        },
        health: () => harness.health,
        isReady: () => true,
        isSimulated: true,
        topology: {
          running: () => topology.running(),
          plan: (body) => topology.plan(body),
          apply: (body) => topology.apply(body),
        },
      },
      (listening) => {
        url = listening;
      },
    ),
  });
  const system = new ActorSystem({
    children: [
      ...childrenOf('/', shipped.tree.nodes, refs),
      supervisor({ id: 'threads', children: [thread, probe] }),
      supervisor({ id: 'crowd', children: crowd }),
      console,
    ],
  });
  const topology = demoTopology(system, shipped, refs);
  await system.start();
  return Object.assign(harness, {
    ...{ url, token: TOKEN },
    crash: (path: string) => void refs.get(path)?.tell('crash'),
    stop: () => system.stop(),
  });
}
