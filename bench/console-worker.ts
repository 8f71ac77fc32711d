// The system that the console benchmark measures, in a process of its own: what its clients cost is not counted.
import { startDemo } from '../test/browser/harness.ts';

/** Together with those of the topology, 500. */
const EXTRA_ACTORS = 482;

const demo = await startDemo({ extraActors: EXTRA_ACTORS });
process.on('message', (message) => {
  if (message === 'cpu') process.send?.({ cpuUs: sum(process.cpuUsage()) });
  else void demo.stop().then(() => process.exit(0));
});
process.send?.({ url: demo.url });

function sum({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}
