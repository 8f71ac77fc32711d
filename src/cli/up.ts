import { existsSync, lstatSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type RunningCommand, startCommand } from '../program/child-process.ts';
import { createLog, logLifecycle } from '../program/log.ts';
import { Program } from '../program/program.ts';
import { renderIssue } from '../protocols/config-issue.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { providePostgres, provideRedis, type ServerAvailability } from '../servers/index.ts';
import { Kept, type OwnProcess } from '../servers/kept.ts';
import { onTerminationSignal } from '../supervision/shutdown.ts';
import { readConfigFiles } from '../supervision/topology/load.ts';
import { ConfigWatcher } from '../supervision/topology/watch.ts';
import { venueNamed } from '../venues/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { CONFIG_OPTION, KNOWN, type ReadConfiguration, readConfiguration, reportIssues } from './configuration.ts';
import { noteVenues, placesOf, preflight } from './preflight.ts';
import { Progress } from './progress.ts';
import { serverUrl } from './server-url.ts';

const OPTIONS = {
  config: CONFIG_OPTION,
  live: { type: 'boolean', default: false, about: 'connect to the real venues instead of simulated ones' },
  reset: { type: 'boolean', default: false, about: 'forget all that is in the data folder first' },
  json: { type: 'boolean', default: false, about: 'print one JSON object when ready' },
} as const satisfies Options;

interface Settings {
  readonly folder: string;
  readonly live: boolean;
  readonly reset: boolean;
  readonly json: boolean;
}

/** What was started outside the actor system; stopped last, in reverse. */
type Stop = () => Promise<void>;

export const command: Command = {
  summary: 'start everything: servers, simulated venues, the whole topology',
  usage: ['[options]'],
  about: `
Starts everything that the configuration asks for: Postgres and Redis where none are named, the simulated venues, the collector, and the actor system. Ctrl-C stops what it started and keeps the data.
`,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'stopped by Ctrl-C or SIGTERM',
    [EXIT.failed]: 'it could not start, or gave up',
    [EXIT.config]: 'a configuration file is wrong, or Node is too old',
  },
  examples: [
    'tapeworks up',
    'DATABASE_URL=postgres://me@localhost/md REDIS_URL=redis://localhost:6379 tapeworks up --live',
  ],
  async run(args) {
    const { values } = readArguments(args, OPTIONS, 0);
    const options: Settings = { folder: values.config, live: values.live, reset: values.reset, json: values.json };
    const read = await readConfiguration(options.folder, options.folder);
    if (!read.ok) return reportIssues(read.issues, options.json);
    await preflight(read.value.config, options.live, options.reset);
    return up(read.value, options);
  },
};

async function up(read: ReadConfiguration, options: Settings): Promise<number> {
  const progress = new Progress(options.json);
  const log = createLog(read.config.kernel.log.level);
  const stops: Stop[] = [];
  let program: Program | undefined;
  let end: (code: number) => void = () => {};
  const ended = new Promise<number>((done) => {
    end = done;
  });
  let isStopping = false;
  const forget = onTerminationSignal(
    () => {
      isStopping = true;
      progress.stopping();
      end(EXIT.ok);
    },
    (code) => process.exit(code),
  );
  try {
    const { data } = placesOf(read.config);
    if (options.reset) forgetData(data);
    noteVenues(data, options.live);
    const [postgres, redis, venues] = await allEnded([
      progress.step('Postgres', () =>
        server(providePostgres, 'DATABASE_URL', data, read.config.kernel.servers.postgres, stops, log),
      ),
      progress.step('Redis', () =>
        server(provideRedis, 'REDIS_URL', data, read.config.kernel.servers.redis, stops, log),
      ),
      options.live ? LIVE : progress.step('simulated venues', () => simulate(read, stops, log)),
    ]);
    if (isStopping) return EXIT.ok;
    program = new Program({
      configuration: read.config,
      files: read.files,
      endpoints: venues.endpoints,
      isSimulated: !options.live,
      postgres,
      redis,
      onWarning: (warning) => log.warn(warning),
      onConfigured: ({ kernel }) => {
        log.level = kernel.log.level;
      },
    });
    const running = program;
    logLifecycle(running.system.events, log);
    await allEnded([
      progress.step('actors', () => bringUp(running)),
      redis.state === 'up' &&
        progress.step('collector', () => collect(options.folder, venues.text, redis.url, stops, log)),
    ]);
    if (isStopping) return EXIT.ok;
    if (read.config.kernel.topology.watch) stops.push(watch(running, read, options.folder, log));
    progress.ready(running, postgres, redis, options.live);
    void running.system.ended.then((reason) => {
      if (reason.kind === 'failure') log.fatal({ error: reason.error.message }, 'the system gave up');
      end(EXIT.failed);
    });
    return await ended;
  } finally {
    const stoppingMs = performance.now();
    if (stops.length > 0) progress.stopping();
    await program?.stop();
    for (const stop of stops.reverse()) await stop();
    if (stops.length > 0) progress.stopped((performance.now() - stoppingMs) / 1000);
    forget();
  }
}

async function bringUp(program: Program): Promise<void> {
  const outcome = await program.start();
  if (outcome.kind !== 'applied') {
    throw new TapeworksError('TW_START_FAILED', `the topology did not come up: ${outcome.reason}`);
  }
}

/** Waits for all even where one fails: what is still starting could not be stopped. */
async function allEnded<const Steps extends readonly unknown[]>(steps: Steps) {
  await Promise.allSettled(steps);
  return Promise.all(steps);
}

/** Everything but the servers' programs, which would only have to be fetched again. */
function forgetData(data: string): void {
  if (!existsSync(data)) return;
  for (const name of readdirSync(data)) {
    if (name === 'cache') continue;
    const path = join(data, name);
    // Below a folder that Postgres may not enter, its data is elsewhere, with its notes beside it.
    const moved = lstatSync(path).isSymbolicLink() && existsSync(path) ? realpathSync(path) : undefined;
    if (moved !== undefined) for (const end of ['', '.secret', '.log', '.owner.json']) erase(`${moved}${end}`);
    erase(path);
  }
}

const erase = (path: string) => rmSync(path, { recursive: true, force: true });

/** Applies each settled change of the configuration folder; a wrong one is reported and changes nothing. */
function watch(program: Program, read: ReadConfiguration, folder: string, log: Logger): Stop {
  const watcher = new ConfigWatcher({
    folder,
    around: KNOWN,
    debounceMs: read.config.kernel.topology.debounce,
    known: read.files,
    async onChange(checked) {
      if (!checked.ok) {
        for (const issue of checked.issues) log.error(renderIssue(issue));
        return;
      }
      const files = await readConfigFiles(folder);
      if (!files.ok) return;
      const texts = [...files.value].map(([name, bytes]) => [name, Buffer.from(bytes).toString('utf8')]);
      const reply = await program.control.apply({ files: Object.fromEntries(texts) });
      log.info(
        { outcome: reply.kind, ...('reason' in reply && { reason: reply.reason }) },
        'the configuration changed',
      );
    },
  });
  return async () => watcher.close();
}

/** The server that the environment names, else the one of kernel.yaml, else an embedded one. */
async function server(
  provide: typeof providePostgres,
  variable: 'DATABASE_URL' | 'REDIS_URL',
  folder: string,
  named: { readonly url: string; readonly passwordFile?: string | undefined },
  stops: Stop[],
  log: Logger,
): Promise<ServerAvailability> {
  const url = serverUrl(variable, named);
  const answer = await provide({ folder, env: { [variable]: url }, warn: (text) => log.warn(text) });
  if (answer.state === 'up') stops.push(() => answer.stop());
  return answer;
}

const realVenues = (venue: string) => {
  const { facts } = venueNamed(venue);
  return { wsUrl: facts.wsUrl, restUrl: facts.rest.url };
};

const LIVE = { endpoints: realVenues, text: '' };

/** A process of ours: started again where it ends by itself, and stopped with the program. */
async function keep(
  what: string,
  start: (before: RunningCommand | undefined) => Promise<RunningCommand>,
  stops: Stop[],
  log: Logger,
): Promise<RunningCommand> {
  const kept = await Kept.start<RunningCommand & OwnProcess>({
    async start(before) {
      const running = await start(before);
      return { ...running, title: `${what}, process ${running.pid},` };
    },
    warn: (text) => log.error(text),
  });
  stops.push(() => kept.stop());
  return kept.process;
}

/** The reference module, in a process of its own like every module. */
async function collect(folder: string, endpoints: string, redisUrl: string, stops: Stop[], log: Logger) {
  const args = [
    'collect',
    '--json',
    '--config',
    folder,
    ...(endpoints === '' ? ['--live'] : ['--endpoints', endpoints]),
  ];
  await keep('the collector', () => startCommand(args, { REDIS_URL: redisUrl }), stops, log);
}

async function simulate({ config }: ReadConfiguration, stops: Stop[], log: Logger) {
  const { port, seed } = config.kernel.simulation;
  const start = (port: number) => startCommand(['sim', '--json', '--port', String(port), '--seed', String(seed)]);
  const sim = await keep(
    'the simulator of the venues',
    (before) => start(before === undefined ? port : simulated(before).port),
    stops,
    log,
  );
  const { venues } = simulated(sim);
  return { endpoints: (venue: string) => venues[venue] ?? realVenues(venue), text: sim.firstLine };
}

function simulated({ firstLine }: RunningCommand) {
  return JSON.parse(firstLine) as { port: number; venues: Record<string, { wsUrl: string; restUrl: string }> };
}
