// npm run bench -- NAME [--json] [--yardstick BINARY] [--only PART,PART]
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Bench, BenchOptions, Measurement } from './harness.ts';

const SUPPORT = new Set(['main', 'harness']);
const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.slice(0, -'.js'.length))
  .filter((name) => !SUPPORT.has(name) && !name.includes('.') && !name.endsWith('-worker'));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, yardstick: { type: 'string' }, only: { type: 'string' } },
});

const [name] = positionals;
if (name === undefined || !names.includes(name)) {
  process.stderr.write(
    `usage: npm run bench -- NAME [--json] [--yardstick BINARY] [--only PARTS]\n  NAME: ${names.join(', ')}\n`,
  );
  process.exit(64);
}

const round = (value: number) => Number(value.toPrecision(5));
const options: BenchOptions = {
  json: values.json,
  yardstick: values.yardstick,
  only: values.only?.split(','),
  report(metric, value, unit, reference) {
    const line: Measurement = {
      bench: name,
      metric,
      value: round(value),
      unit,
      ...(reference && {
        reference: round(reference.value),
        reference_name: reference.name,
        ratio: round(value / reference.value),
      }),
    };
    const beside = reference ? `   ${reference.name} ${line.reference} ${unit}   ratio ${line.ratio}` : '';
    process.stdout.write(
      values.json ? `${JSON.stringify(line)}\n` : `${metric.padEnd(32)} ${line.value} ${unit}${beside}\n`,
    );
  },
};

const { bench } = (await import(`./${name}.js`)) as { bench: Bench };
await bench.run(options);
