import { VENUES } from '../venues/index.ts';
import { FAULT_KINDS } from '../venues/simulation/faults.ts';
import { DEFAULT_SYMBOLS } from '../venues/simulation/instruments.ts';
import { type SimulatorOptions, startSimulator } from '../venues/simulation/simulator.ts';
import { readArguments, usage } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';

const DEFAULT_PORT = '9801';
/** Seconds of market time between the listings that the simulator makes by itself. */
const DEFAULT_LIST_EVERY = '120';

const faults = Object.entries(FAULT_KINDS)
  .map(([kind, what]) => `  ${kind.padEnd(19)} ${what}`)
  .join('\n');

const about = `
Runs simulated venues on one port of 127.0.0.1, by the protocols of the real ones, from one seeded market:
${VENUES.map(({ facts, simulation }) => `  ${facts.title.padEnd(24)} ws://127.0.0.1:${DEFAULT_PORT}/${facts.id}${simulation.wsPath}`).join('\n')}
REST endpoints are below /VENUE as well, under the paths of the real ones.
`;

const notes = `
Faults on request: POST http://127.0.0.1:${DEFAULT_PORT}/_sim/faults with
{"kind": ..., "venue", "symbol", "count", "durationMs", "value"}; DELETE ends them; GET /_sim/status says what runs. Kinds:
${faults}
`;

const text = { type: 'string', value: 'N' } as const;
const OPTIONS = {
  port: { ...text, default: DEFAULT_PORT, about: `port to listen on, 0 for a free one` },
  seed: { ...text, default: '1', about: "the market's seed; the same seed gives the same market" },
  speed: { ...text, value: 'X', default: '1', about: 'market seconds that pass in a second' },
  rate: { ...text, default: '10', about: 'book frames a second on each busy stream, 1 to 2000' },
  symbols: {
    ...{ ...text, value: 'LIST', default: DEFAULT_SYMBOLS.join(',') },
    about: `BASE-QUOTE,... or a number of made-up ones`,
  },
  'list-every': {
    ...{ ...text, value: 'S', default: DEFAULT_LIST_EVERY },
    about: `market seconds between new listings, 0 for none`,
  },
  retain: { ...text, default: '200000', about: "trades that each symbol's history keeps" },
  stamps: { type: 'boolean', default: false, about: 'add "sent_ns" (monotonic clock) to every data frame' },
  record: { ...text, value: 'FILE', about: 'append every data frame to FILE, one JSON object a line', offers: 'file' },
  replay: { ...text, value: 'FILE', about: "serve the frames of FILE instead of the market's", offers: 'file' },
  json: { type: 'boolean', default: false, about: 'print one JSON object when ready' },
} as const satisfies Options;

interface Settings {
  readonly simulator: SimulatorOptions;
  readonly json: boolean;
}

function parse(args: readonly string[]): Settings {
  const { values } = readArguments(args, OPTIONS, 0);
  const number = (name: 'port' | 'seed' | 'speed' | 'rate' | 'list-every' | 'retain') => {
    const value = Number(values[name]);
    if (values[name].trim() === '' || !Number.isFinite(value)) throw usage(`--${name}: expected a number`);
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
}

function symbolsOf(text: string): readonly string[] {
  if (/^\d+$/.test(text)) return Array.from({ length: Number(text) }, (_, at) => `S${at + 1}-USD`);
  const names = text.split(',').map((name) => name.trim().toUpperCase());
  const wrong = names.find((name) => !/^[A-Z0-9]{1,12}-[A-Z0-9]{1,8}$/.test(name));
  if (wrong !== undefined) throw usage(`--symbols: expected BASE-QUOTE, got "${wrong}"`);
  return names;
}

export const command: Command = {
  summary: 'run simulated venues: real protocols, a seeded market, faults on request',
  usage: ['[options]'],
  about,
  options: OPTIONS,
  notes,
  exits: { [EXIT.ok]: 'ended by Ctrl-C or SIGTERM', [EXIT.failed]: 'it could not start, such as on a taken port' },
  examples: [
    'tapeworks sim --seed 7 --speed 60',
    `curl -d '{"kind":"gap","venue":"${VENUES[0]!.facts.id}","count":3}' -H 'content-type: application/json' 127.0.0.1:${DEFAULT_PORT}/_sim/faults`,
  ],
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
