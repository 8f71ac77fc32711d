import type { Program } from '../program/program.ts';
import type { HealthPart } from '../protocols/console-api.ts';
import type { ServerAvailability } from '../servers/index.ts';
import { hanging } from './help.ts';
import { type Paint, paintFor, plain } from './terminal.ts';

const INDENT = '        ';

/** Says what is being started, what came up, and where to look next. Programs get one JSON object instead. */
export class Progress {
  readonly #isJson: boolean;
  readonly #paint: Paint = paintFor(process.stderr);
  readonly #startedMs = performance.now();
  readonly #pending = new Set<string>();
  #isStopping = false;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  /** Runs a step and says how long it took, or what went wrong with it. A terminal shows meanwhile what is waited for. */
  async step<T>(what: string, run: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    this.#pending.add(what);
    this.#showPending();
    try {
      const result = await run();
      const down = isDown(result) ? result : undefined;
      const mark = down === undefined ? this.#paint('up  ', 'green') : this.#paint('down', 'yellow');
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
      this.#done(what, `  ${mark}  ${what.padEnd(18)} ${this.#paint(`${seconds} s`, 'dim')}`);
      if (down !== undefined) {
        const reason = lastLines(down.reason);
        this.#say([`${down.code}: ${reason}`, down.remedy].flatMap((text) => this.#filled(text)).join('\n'));
      }
      return result;
    } catch (error) {
      this.#done(what, `  ${this.#paint('fail', 'red')}  ${what}`);
      throw error;
    } finally {
      this.#showPending();
    }
  }

  ready(program: Program, postgres: ServerAvailability, redis: ServerAvailability, isLive: boolean): void {
    const health = program.health();
    const grpc = program.grpcAddress;
    const url = program.consoleUrl;
    const seconds = (performance.now() - this.#startedMs) / 1000;
    if (this.#isJson) {
      const servers = { postgres: publicView(postgres), redis: publicView(redis) };
      process.stdout.write(`${JSON.stringify({ ready: true, seconds, dashboard: url, grpc, health, servers })}\n`);
      return;
    }
    const troubles = renderTroubles(health.parts, this.#paint, Math.min(120, process.stderr.columns ?? 120));
    const symbol = program.defaultSymbol ?? 'BTC-USD';
    const hints = [
      [`npx tapeworks top --book ${symbol}`, 'the merged order book, live'],
      ['npx tapeworks top', 'the actors'],
      ['npx tapeworks status', 'health, in words'],
      ['npx tapeworks help', 'everything else'],
    ] as const;
    const width = Math.max(...hints.map(([command]) => command.length)) + 2;
    this.#say(`
  ${this.#paint('Tapeworks is up', 'bold')} after ${seconds.toFixed(1)} s, with ${isLive ? 'the real' : 'simulated'} venues.

    dashboard   ${this.#paint(url ?? 'off', 'bold')}
    gRPC        ${this.#paint(grpc ?? 'off', 'bold')}
${troubles}
  Try next, in another terminal:
${hints.map(([command, what]) => `    ${command.padEnd(width)}${what}`).join('\n')}

  Ctrl-C stops everything that was started here; the data stays.
`);
  }

  /** Said once: as soon as it is asked for, even where something is still starting. */
  stopping(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#say(`  ${this.#paint('stopping ...', 'dim')}`);
  }

  stopped(seconds: number): void {
    this.#say(`  ${this.#paint(`stopped after ${seconds.toFixed(1)} s; the data stays`, 'dim')}`);
  }

  #done(what: string, line: string): void {
    this.#pending.delete(what);
    this.#say(line);
  }

  #filled(text: string): string[] {
    return hanging(INDENT, text, Math.min(120, process.stderr.columns ?? 120));
  }

  /** One line that is overwritten; nothing where it would be kept, as in a file. */
  #showPending(): void {
    if (this.#isJson || process.stderr.isTTY !== true) return;
    const names = [...this.#pending].join(', ');
    const line =
      names === '' ? '' : `  ${this.#paint(`...   ${names}`.slice(0, (process.stderr.columns ?? 80) - 3), 'dim')}`;
    process.stderr.write(`\r\u001b[K${line}`);
  }

  #say(text: string): void {
    if (this.#isJson) return;
    process.stderr.write(process.stderr.isTTY === true ? `\r\u001b[K${text}\n` : `${text}\n`);
  }
}

/** What is not well at the end of a start, so that nobody takes `up` for `well`; empty where all is. */
export function renderTroubles(parts: readonly HealthPart[], paint: Paint, columns: number): string {
  const unwell = parts.filter(({ status }) => status !== 'OK');
  const lines = unwell.flatMap(({ name, status, reason }) => {
    const [first = '', ...more] = hanging(' '.repeat(16), `${name}: ${plain(reason)}`, columns);
    return [`    ${paint(status.padEnd(12), status === 'DOWN' ? 'red' : 'yellow')}${first.slice(16)}`, ...more];
  });
  return lines.map((line) => `${line}\n`).join('');
}

/** A server's log can be long; what it says last is why it ended. */
function lastLines(reason: string): string {
  const lines = reason.trim().split('\n');
  return lines.length <= 3 ? lines.join(' ') : [lines[0], '...', ...lines.slice(-2)].join(' ');
}

function isDown(result: unknown): result is Extract<ServerAvailability, { state: 'down' }> {
  return typeof result === 'object' && result !== null && 'state' in result && result.state === 'down';
}

function publicView(server: ServerAvailability) {
  return server.state === 'up' ? { state: server.state, origin: server.origin } : { ...server };
}
