// The program with the K-line plane as a process of its own, to be killed. Its orders come in the environment:
//   BARS_CHILD   JSON of ChildOrders
// It tells its parent how it is, five times a second.
import { Program } from '../../src/program/program.ts';
import { configurationOf } from '../books/harness.ts';
import type { ChildOrders } from './child.ts';

const orders = JSON.parse(process.env['BARS_CHILD'] ?? '{}') as ChildOrders;
const program = new Program({
  ...configurationOf(orders.topology, `data: ${orders.data}\nspill: { minFreeBytes: 64MiB }\n`),
  endpoints: (venue) => orders.endpoints[venue]!,
  postgres: { state: 'up', url: orders.postgresUrl, origin: 'configured', stop: async () => {} },
  redis: { state: 'down', code: 'TW_SERVER_START_FAILED', reason: 'not asked for', remedy: '' },
  onWarning: (text) => void process.stderr.write(`${text}\n`),
});
const outcome = await program.start();
if (outcome.kind !== 'applied') {
  process.stderr.write(`${JSON.stringify(outcome)}\n`);
  process.exit(3);
}
setInterval(async () => {
  const health = program.health().parts.find(({ name }) => name === 'klines');
  const persistence = await program.system.summary('/klines/persistence');
  const symbols = await program.system.summary('/klines/symbols');
  process.send?.({ health, persistence, symbols });
}, 200);
process.once('SIGTERM', () => void program.stop().then(() => process.exit(0)));
