// The program as a process of its own, to be killed. Its orders come in the environment:
//   KLINES_PROGRAM   JSON of ProgramOrders
// It tells its gRPC address once it is up and how it is from then on, and ends a partition worker's thread when told to.
import { Program } from '../../src/program/program.ts';
import { ABSENT, configurationOf } from '../books/harness.ts';
import type { ProgramOrders, ProgramReport, ToChild, ToParent } from './program-process.ts';

const orders = JSON.parse(process.env['KLINES_PROGRAM'] ?? '{}') as ProgramOrders;
/** Venues that are not simulated are not there: nothing listens on the discard port. */
const NOWHERE = { wsUrl: 'ws://127.0.0.1:9', restUrl: 'http://127.0.0.1:9' };
const tell = (message: ToParent) => process.send?.(message);

const program = new Program({
  isSimulated: true,
  ...configurationOf(orders.topology, `data: ${orders.folder}\nspill: { minFreeBytes: 64MiB }\n`),
  endpoints: (venue) => orders.endpoints[venue] ?? NOWHERE,
  postgres: { state: 'up', url: orders.postgresUrl, origin: 'configured', stop: async () => {} },
  redis: ABSENT,
  onWarning: (warning) => process.stderr.write(`${warning}\n`),
});
const outcome = await program.start();
if (outcome.kind !== 'applied') {
  process.stderr.write(`${JSON.stringify(outcome)}\n`);
  process.exit(3);
}
tell({ kind: 'up', grpc: program.grpcAddress! });

async function report(): Promise<void> {
  const [persistence, symbols] = await Promise.all([
    program.system.summary('/klines/persistence') as Promise<ProgramReport['persistence']>,
    program.system.summary('/klines/symbols') as Promise<ProgramReport['symbols']>,
  ]);
  const health = program.health().parts.find(({ name }) => name === 'klines')!;
  tell({
    kind: 'report',
    report: { health, catalogue: program.klines.bars.catalogue().symbols, persistence, symbols },
  });
}
// One that ends or begins anew does not answer; the next report comes soon.
setInterval(() => report().catch(() => undefined), 250);

process.on('message', (message: ToChild) => {
  if (message.kind === 'end-worker') program.system.restart(`/klines/worker-${message.worker}`);
  else void program.stop().then(() => process.exit(0));
});
process.on('disconnect', () => process.exit(4));
