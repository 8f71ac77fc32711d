import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const MODULE = new URL('./partition-line.js', import.meta.url).href;
/** A question that nobody answers, with an hour of patience. */
const ASK = `
import { PartitionLine } from ${JSON.stringify(MODULE)};
const line = new PartitionLine({ worker: 0, ringCapacity: 16, ports: 1 });
line.begin(['1m'], ['live']);
line.ask({ kind: 'snapshot', reader: 'live' }, 3_600_000);
process.stdout.write('asked');
`;

it('lets a program end that waits for an answer of a worker which is gone', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', ASK]);
  expect(stdout).toBe('asked');
});
