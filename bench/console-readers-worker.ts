// Open dashboards, in a process of their own: each message says how many there shall be.
import { drain } from './console.drain.ts';

/** What dashboards look at: most show books, the topic that is sent most often. */
const LOOKS = ['pulse,book/BTC-USD', 'pulse,book/BTC-USD', 'pulse,actors,events', 'pulse,threads'];

let abort = new AbortController();
let open: Promise<unknown> = Promise.resolve();

process.on('message', async ({ url, count }: { url: string; count: number }) => {
  abort.abort();
  await open;
  abort = new AbortController();
  const { signal } = abort;
  const topics = Array.from({ length: count }, (_, at) => LOOKS[at % LOOKS.length]!);
  open = Promise.all(topics.map((names) => drain(`${url}/api/live?topics=${names}`, signal, () => {})));
  process.send?.('changed');
});
process.on('disconnect', () => process.exit(0));
