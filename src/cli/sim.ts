import { parseArgs } from 'node:util';
import { TapeworksError } from '../protocols/errors/index.ts';
import { VENUES } from '../venues/index.ts';
import { FAULT_KINDS } from '../venues/simulation/faults.ts';
import { DEFAULT_SYMBOLS } from '../venues/simulation/instruments.ts';
import { type SimulatorOptions, startSimulator } from '../venues/simulation/simulator.ts';
import { type Command, EXIT } from './command.ts';

const DEFAULT_PORT = '9801';
/** Seconds of market time between the listings that the simulator makes by itself. */
const DEFAULT_LIST_EVERY = '120';

const faults = Object.entries(FAULT_KINDS)
  .map(([kind, what]) => `  ${kind.padEnd(19)} ${what}`)
  .join('\n');

const help = `
usage: tapeworks sim [options]

Runs simulated venues on one port of 127.0.0.1, by the protocols of the real ones, from one seeded market:
${VENUES.map(({ facts, simulation }) => `  ${facts.title.padEnd(24)} ws://127.0.0.1:${DEFAULT_PORT}/${facts.id}${simulation.wsPath}`).join('\n')}
REST endpoints are below /VENUE as well, for example /binance/api/v3/klines.

options:
  --port N            port to listen on (${DEFAULT_PORT}; 0 for a free one)
  --seed N            the market's seed (1); the same seed gives the same market
  --speed X           market seconds that pass in a second (1)
  --rate N            book frames a second on each busy stream, 1 to 2000 (10)
  --symbols LIST      BASE-QUOTE,... or a number of made-up ones (${DEFAULT_SYMBOLS.join(',')})
  --list-every S      market seconds between new listings, 0 for none (${DEFAULT_LIST_EVERY})
  --retain N          trades that each symbol's history keeps (200000)
  --stamps            add "sent_ns" (monotonic clock) to every data frame
  --record FILE       append every data frame to FILE, one JSON object a line
  --replay FILE       serve the frames of FILE instead of the market's
  --json              print one JSON object when ready

Faults on request: POST http://127.0.0.1:${DEFAULT_PORT}/_sim/faults with {"kind": ..., "venue", "symbol", "count", "durationMs",
"value"}; DELETE ends them; GET /_sim/status says what runs. Kinds:
${faults}

examples:
  tapeworks sim --seed 7 --speed 60
  curl -d '{"kind":"gap","venue":"kraken","count":3}' -H 'content-type: application/json' 127.0.0.1:${DEFAULT_PORT}/_sim/faults
`;

interface Settings {
  readonly simulator: SimulatorOptions;
  readonly json: boolean;
}

function parse(args: readonly string[]): Settings {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { ...text, default: DEFAULT_PORT },
        seed: { ...text, default: '1' },
        speed: { ...text, default: '1' },
        rate: { ...text, default: '10' },
        symbols: { ...text, default: DEFAULT_SYMBOLS.join(',') },
        'list-every': { ...text, default: DEFAULT_LIST_EVERY },
        retain: { ...text, default: '200000' },
        stamps: flag,
        json: flag,
        record: text,
        replay: text,
      },
    });
    const number = (name: 'port' | 'seed' | 'speed' | 'rate' | 'list-every' | 'retain') => {
      const value = Number(values[name]);
      if (values[name].trim() === '' || !Number.isFinite(value)) throw new TypeError(`--${name}: expected a number`);
      return value;
    };
    const simulator: SimulatorOptions = {
      port: number('port'),
      seed: number('seed'),
      speed: number('speed'),
      rate: number('rate'),
      listEveryMs: number('list-every') * 1000,
      retainTrades: number('retain'),
      symbols: symbolsOf(values.symbols),
      stamps: values.stamps,
      ...(values.record === undefined ? {} : { record: values.record }),
      ...(values.replay === undefined ? {} : { replay: values.replay }),
    };
    return { simulator, json: values.json };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TapeworksError('TW_BAD_USAGE', error.message);
  }
}

function symbolsOf(text: string): readonly string[] {
  if (/^\d+$/.test(text)) return Array.from({ length: Number(text) }, (_, at) => `S${at + 1}-USD`);
  const names = text.split(',').map((name) => name.trim().toUpperCase());
  const wrong = names.find((name) => !/^[A-Z0-9]{1,12}-[A-Z0-9]{1,8}$/.test(name));
  if (wrong !== undefined) throw new TypeError(`--symbols: expected BASE-QUOTE, got "${wrong}"`);
  return names;
}

export const command: Command = {
  summary: 'run simulated venues: real protocols, a seeded market, faults on request',
  help,
  async run(args) {
    const { simulator: options, json } = parse(args);
    const simulator = await startSimulator(options);
    const venues = Object.fromEntries(VENUES.map(({ facts }) => [facts.id, simulator.endpoints(facts.id)]));
    process.stdout.write(
      json
        ? `${JSON.stringify({ url: simulator.url, port: simulator.port, venues })}\n`
        : `simulated venues on ${simulator.url} (seed ${options.seed}, speed ${options.speed}); faults: POST ${simulator.url}/_sim/faults\n`,
    );
    void simulator.replayed.then((end) => process.stderr.write(`replay ended: ${end}\n`));
    await new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    });
    await simulator.stop();
    return EXIT.ok;
  },
};
