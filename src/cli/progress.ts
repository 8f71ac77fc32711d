import type { Program } from '../program/program.ts';
import type { ServerAvailability } from '../servers/index.ts';

const BOLD = '\u001b[1m';
const DIM = '\u001b[2m';
const GREEN = '\u001b[32m';
const YELLOW = '\u001b[33m';
const RED = '\u001b[31m';
const PLAIN = '\u001b[0m';

/** Says what is being started, what came up, and where to look next. Programs get one JSON object instead. */
export class Progress {
  readonly #isJson: boolean;
  readonly #hasColour = process.stderr.isTTY === true && process.env['NO_COLOR'] === undefined;
  readonly #startedMs = performance.now();

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  /** Runs a step and says how long it took, or what went wrong with it. */
  async step<T>(what: string, run: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    try {
      const result = await run();
      const down = isDown(result) ? result : undefined;
      const mark = down === undefined ? this.#paint(GREEN, 'up  ') : this.#paint(YELLOW, 'down');
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
      this.#say(`  ${mark}  ${what.padEnd(18)} ${this.#paint(DIM, `${seconds} s`)}`);
      if (down !== undefined) this.#say(`        ${down.code}: ${down.reason}\n        ${down.remedy}`);
      return result;
    } catch (error) {
      this.#say(`  ${this.#paint(RED, 'fail')}  ${what}`);
      throw error;
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
    const symbol = program.defaultSymbol ?? 'BTC-USD';
    this.#say(`
  ${this.#paint(BOLD, 'Tapeworks is up')} after ${seconds.toFixed(1)} s, with ${isLive ? 'the real' : 'simulated'} venues.

    dashboard   ${this.#paint(BOLD, url ?? 'off')}
    gRPC        ${this.#paint(BOLD, grpc ?? 'off')}

  Try next, in another terminal:
    npx tapeworks top --book ${symbol}     the merged order book, live
    npx tapeworks top                    the actors
    npx tapeworks status                 health, in words
    npx tapeworks help                   everything else

  Ctrl-C stops everything that was started here; the data stays.
`);
  }

  stopping(): void {
    this.#say(`  ${this.#paint(DIM, 'stopping ...')}`);
  }

  #paint(colour: string, text: string): string {
    return this.#hasColour ? `${colour}${text}${PLAIN}` : text;
  }

  #say(text: string): void {
    if (!this.#isJson) process.stderr.write(`${text}\n`);
  }
}

function isDown(result: unknown): result is Extract<ServerAvailability, { state: 'down' }> {
  return typeof result === 'object' && result !== null && 'state' in result && result.state === 'down';
}

function publicView(server: ServerAvailability) {
  return server.state === 'up' ? { state: server.state, origin: server.origin } : { ...server };
}
