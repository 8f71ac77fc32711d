import { type ConfigIssue, renderIssue } from '../protocols/config-issue.ts';
import type { Configuration } from '../supervision/topology/load.ts';
import { checkConfiguration, KERNEL_FILE, TOPOLOGY_FILE } from '../supervision/topology/load.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT, JSON_OPTION, type Options } from './command.ts';
import { CONFIG_OPTION, KNOWN, readConfiguration } from './configuration.ts';
import { AREAS, type Finding, finding, type Severity, type Verdict, verdictOf } from './doctor/finding.ts';
import { judgeMachine, judgePinning } from './doctor/judge-machine.ts';
import { judgeClaims, judgeDevices, judgeFolder, judgePort } from './doctor/judge-places.ts';
import { judgeClock, judgePostgres, judgeRedis } from './doctor/judge-servers.ts';
import { needsOf, probeClock, probeMachine, probePinning } from './doctor/probe-machine.ts';
import { probeClaims, probeFolder, probePort } from './doctor/probe-places.ts';
import { probePostgres, probeRedis } from './doctor/probe-servers.ts';
import { hanging } from './help.ts';
import { judgeSecrets, placesOf } from './preflight.ts';
import { serverUrl } from './server-url.ts';
import { outputColumns, type Paint, paintFor, plain } from './terminal.ts';

const OPTIONS = { config: CONFIG_OPTION, json: JSON_OPTION } as const satisfies Options;

export const command: Command = {
  summary: 'check machine, ports, servers, clock and disk, and say what to change',
  usage: ['[--config FOLDER] [--json]'],
  about: `
Looks at everything that a start depends on and that makes it slow or unsafe: configuration, cores, memory, file limit, pinning, ports, the settings of Redis and Postgres, clocks, disks and left-over locks. Works before the first start and beside a running program, and changes nothing.
`,
  options: OPTIONS,
  notes:
    'Each finding has a code of docs/errors.md. A failure keeps the program from running or from keeping its promises.',
  exits: {
    [EXIT.ok]: 'nothing to change, or notes only',
    [EXIT.failed]: 'at least one failure',
    [EXIT.changes]: 'warnings only',
  },
  examples: [
    'tapeworks doctor',
    'tapeworks doctor --json | jq -r \'.findings[] | select(.severity == "failure") | .text\'',
    'DATABASE_URL=postgres://me@db/md tapeworks doctor && tapeworks up',
  ],
  async run(args) {
    const { values } = readArguments(args, OPTIONS, 0);
    const verdict = verdictOf(await examine(values.config));
    const text = values.json
      ? `${JSON.stringify(verdict)}\n`
      : renderVerdict(verdict, paintFor(process.stdout), outputColumns());
    process.stdout.write(text);
    return EXIT_OF[verdict.verdict];
  },
};

const EXIT_OF = { healthy: EXIT.ok, warnings: EXIT.changes, failures: EXIT.failed } as const;

async function examine(folder: string): Promise<Finding[]> {
  const read = await readConfiguration(folder, folder);
  const config = read.ok ? read.value.config : defaults();
  const { kernel } = config;
  const { data, spill, ports: wanted, needs: space } = placesOf(config);
  const claims = probeClaims(data, spill);
  const running = claims.find(({ owner }) => owner.isAlive)?.owner.pid;
  const place = { data, isRunning: running !== undefined };
  const secrets = judgeSecrets(config);
  const urls = {
    postgres: ownServer('DATABASE_URL', kernel.servers.postgres),
    redis: ownServer('REDIS_URL', kernel.servers.redis),
  };
  const [redis, postgres] = [
    await probeRedis({ ...place, url: urls.redis }),
    await probePostgres({ ...place, url: urls.postgres }),
  ];
  const ports = await Promise.all(wanted.map(([use, host, port]) => probePort(use, host, port, running)));
  const folders = [probeFolder('data', data), probeFolder('spill', spill)];
  const needs = { ...space, isPostgresEmbedded: urls.postgres === undefined };
  const clocks = [
    ...(redis.state === 'answers' ? [{ name: 'Redis', ...redis.facts.clock }] : []),
    ...(postgres.state === 'answers' ? [{ name: 'Postgres', ...postgres.facts.clock }] : []),
  ];
  return [
    ...(read.ok ? [whole(folder)] : read.issues.map(asFinding)),
    ...secrets,
    ...judgeMachine(probeMachine(), needsOf(config)),
    ...judgePinning(await probePinning(config), process.platform === 'linux'),
    ...ports.filter((port) => port !== undefined).map(judgePort),
    ...judgeRedis(redis),
    ...judgePostgres(postgres, kernel.sink.connections),
    ...judgeClock({ ...probeClock(), servers: clocks }),
    ...folders.flatMap((facts) => judgeFolder(facts, needs)),
    ...judgeDevices(folders, needs),
    ...judgeClaims(claims),
  ];
}

/** The server, and without a password whose file cannot be read: that is told as such, and the server may say more. */
function ownServer(...[variable, named]: Parameters<typeof serverUrl>): string | undefined {
  try {
    return serverUrl(variable, named);
  } catch {
    return named.url;
  }
}

/** What would be checked if the files said nothing: the rest of the machine is worth a look all the same. */
function defaults(): Configuration {
  const empty = new Map([KERNEL_FILE, TOPOLOGY_FILE].map((name) => [name, Buffer.from('{}\n')]));
  const checked = checkConfiguration(empty, KNOWN, (name) => name);
  if (checked.ok) return checked.value;
  throw new Error(`the defaults are wrong: ${checked.issues.map(renderIssue).join('; ')}`);
}

const whole = (folder: string) =>
  finding('configuration', 'ok', 'TW_CONFIG_INVALID', `the files in ${folder} are right`);

function asFinding(issue: ConfigIssue): Finding {
  return finding('configuration', 'failure', issue.code, renderIssue(issue));
}

const MARKS: Readonly<Record<Severity, readonly [string, Parameters<Paint>[1]]>> = {
  ok: ['ok  ', 'green'],
  note: ['note', 'dim'],
  warning: ['warn', 'yellow'],
  failure: ['FAIL', 'red'],
};

/**
 * machine
 *   ok    Node 20.20.2
 *   warn  1024 open files allowed; the limits let clients use 2200
 *         TW_FILE_LIMIT: Raise it with ...
 */
export function renderVerdict({ findings, failures, warnings }: Verdict, paint: Paint, columns = 120): string {
  const lines = AREAS.flatMap((area) => {
    const here = findings.filter((one) => one.area === area);
    return here.length === 0 ? [] : [paint(area, 'bold'), ...here.flatMap((one) => linesOf(one, paint, columns)), ''];
  });
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
  const counted = (wanted: Severity) => findings.filter(({ severity }) => severity === wanted).length;
  const summary = [
    ...(failures > 0 ? [paint(count(failures, 'failure'), 'red')] : []),
    ...(warnings > 0 ? [paint(count(warnings, 'warning'), 'yellow')] : []),
    ...(counted('note') > 0 ? [count(counted('note'), 'note')] : []),
    `${count(counted('ok'), 'check')} fine`,
  ];
  return `${[...lines, `${summary.join(', ')}.`].join('\n')}\n`;
}

function linesOf({ severity, code, text, remedy }: Finding, paint: Paint, columns: number): string[] {
  const [mark, style] = MARKS[severity];
  const [first = '', ...more] = hanging('        ', plain(text), columns);
  const cure =
    remedy === '' ? [] : hanging('        ', `${code}: ${remedy}`, columns).map((line) => paint(line, 'dim'));
  return [`  ${paint(mark, style)}${first.slice('  '.length + mark.length)}`, ...more, ...cure];
}
