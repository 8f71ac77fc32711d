import { parentPort, workerData } from 'node:worker_threads';
import { pinThread } from '../../supervision/threads/pin.ts';

// A thread of its own, since what is pinned stays pinned.
const { how, warning } = pinThread(workerData as number);
parentPort?.postMessage({ how, warning });
