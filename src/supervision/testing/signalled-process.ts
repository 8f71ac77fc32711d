import { systemClock } from '../clock.ts';
import { GracefulShutdown, onTerminationSignal } from '../shutdown.ts';

// A process for the tests of termination signals: it writes what it does, and its last phase lasts as long as told.
const [, , kind] = process.argv;
const say = (line: string) => process.stdout.write(`${line}\n`);
const alive = setInterval(() => {}, 1000);
const shutdown = new GracefulShutdown(systemClock);
shutdown.add({ name: 'intake', deadlineMs: 1000, run: async () => void say('intake off') });
shutdown.add({
  name: 'drain',
  deadlineMs: 60_000,
  run: async () => {
    say('draining');
    if (kind === 'slow') await new Promise(() => {});
  },
});
onTerminationSignal(
  (signal) => {
    say(`began on ${signal}`);
    void shutdown.run().then((report) => {
      say(`down: ${report.phases.map((phase) => phase.name).join(', ')}`);
      clearInterval(alive);
    });
  },
  (code) => process.exit(code),
);
say('up');
