import type { Health, Pulse } from '../protocols/console-api.ts';
import { consoleUrl, URL_OPTION } from './addresses.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT, JSON_OPTION, type Options } from './command.ts';
import { readConsole } from './console-client.ts';
import { type Paint, paintFor, plain, short, span } from './terminal.ts';

const OPTIONS = { url: URL_OPTION, json: JSON_OPTION } as const satisfies Options;

export const command: Command = {
  summary: 'say how the running system is, on one screen',
  usage: ['[--url URL] [--json]'],
  about: `
Asks the running system for its health, its parts and what to look at. TAPEWORKS_TOKEN holds the token where the system wants one for reading.
`,
  options: OPTIONS,
  exits: { [EXIT.ok]: 'OK', [EXIT.failed]: 'DOWN', [EXIT.changes]: 'DEGRADED', [EXIT.unavailable]: 'nobody answers' },
  examples: [
    'tapeworks status',
    'tapeworks status --json | jq .problems',
    'tapeworks status >/dev/null || page-someone',
  ],
  async run(args) {
    const { values } = readArguments(args, OPTIONS, 0);
    const { body } = await readConsole<Pulse>(await consoleUrl(values.url), '/api/pulse', 'parts');
    const text = values.json === true ? `${JSON.stringify(body)}\n` : renderStatus(body, paintFor(process.stdout));
    process.stdout.write(text);
    return EXIT_OF[body.status];
  },
};

const EXIT_OF: Readonly<Record<Health, number>> = { OK: EXIT.ok, DEGRADED: EXIT.changes, DOWN: EXIT.failed };
const COLOUR = { OK: 'green', DEGRADED: 'yellow', DOWN: 'red' } as const;

/**
 * DEGRADED  simulated venues, up 3.5h, 21 of 22 actors, 41k msg/s
 *
 *   OK        order books
 *   DEGRADED  ingest        Postgres is out, events spill
 *
 * To look at
 *   - /feeds/kraken failed once in the last minute and was restarted
 */
export function renderStatus(pulse: Pulse, paint: Paint): string {
  const { status, parts, problems, actors } = pulse;
  const width = Math.max(0, ...parts.map((part) => part.name.length));
  const venues = pulse.simulated ? 'simulated venues, ' : '';
  const figures = `${venues}up ${span(pulse.uptimeMs)}, ${actors.running} of ${actors.total} actors, ${short(pulse.messagesPerSecond)} msg/s`;
  const lines = [
    `${paint(status, COLOUR[status])}  ${figures}`,
    '',
    ...parts.map((part) => {
      const reason = part.reason === '' ? '' : `  ${plain(part.reason)}`;
      return `  ${paint(part.status.padEnd(8), COLOUR[part.status])}  ${plain(part.name).padEnd(width)}${reason}`;
    }),
  ];
  // What a part says of itself stands above.
  const more = problems.filter(({ text }) => !parts.some(({ name, reason }) => text === `${name}: ${reason}`));
  if (more.length > 0) {
    const marks = more.map(
      ({ severity, text }) => `  ${paint('-', severity === 'critical' ? 'red' : 'yellow')} ${plain(text)}`,
    );
    lines.push('', 'To look at', ...marks);
  }
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}
