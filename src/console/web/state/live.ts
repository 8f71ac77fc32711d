// One stream carries all topics that the page in view wants. It is opened anew when they change, closed while the tab is
// hidden, and tried again with backoff when it breaks.
import { createEffect, createSignal, onCleanup } from 'solid-js';
import type { Pulse } from '../../../protocols/console-api.ts';
import { send } from './api.ts';

export type Link = 'connecting' | 'live' | 'lost';

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 8000;
/** The server says something at least every 15 seconds. */
const SILENCE_MS = 25_000;

/** A topic that nobody follows any more may flow on for a moment: mostly the next page's topics come at once. */
const LEAVE_AFTER_MS = 400;

const [link, setLink] = createSignal<Link>('connecting');
const [pulse, setPulse] = createSignal<Pulse>();
const [lostReason, setLostReason] = createSignal('');

export { link, lostReason, pulse };

type Listener = (message: unknown) => void;
const listeners = new Map<string, Set<Listener>>();
listen<Pulse>('pulse', setPulse);

let current: AbortController | undefined;
let retryMs = RETRY_MIN_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

function listen<T>(topic: string, listener: (message: T) => void): () => void {
  const set = listeners.get(topic) ?? new Set();
  listeners.set(topic, set.add(listener as Listener));
  reopenSoon(0);
  return () => {
    set.delete(listener as Listener);
    if (set.size === 0) listeners.delete(topic);
    reopenSoon(LEAVE_AFTER_MS);
  };
}

/** Follows a topic while the component lives; the topic may change, and undefined follows nothing. */
export function followTopic<T>(topic: () => string | undefined, listener: (message: T) => void): void {
  createEffect(() => {
    const name = topic();
    if (name !== undefined) onCleanup(listen(name, listener));
  });
}

function reopenSoon(delayMs: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void open(), delayMs);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) current?.abort();
  else reopenSoon(0);
});

async function open(): Promise<void> {
  current?.abort();
  if (document.hidden) return;
  const abort = new AbortController();
  current = abort;
  try {
    await read(abort);
    throw new Error('the server closed the stream');
  } catch (error) {
    if (current !== abort || (abort.signal.aborted && document.hidden)) return;
    setLink('lost');
    setLostReason(error instanceof Error ? error.message : String(error));
    reopenSoon(retryMs * (0.75 + Math.random() / 2));
    retryMs = Math.min(RETRY_MAX_MS, retryMs * 2);
  }
}

async function read(abort: AbortController): Promise<void> {
  const topics = [...listeners.keys()].map(encodeURIComponent).join(',');
  const answer = await send(`/api/live?topics=${topics}`, { signal: abort.signal });
  if (!answer.ok || answer.body === null) {
    const refusal = (await answer.json().catch(() => undefined)) as { message?: string } | undefined;
    throw new Error(refusal?.message ?? `the server answered ${answer.status}`);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let silence = setTimeout(() => abort.abort(), SILENCE_MS);
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    clearTimeout(silence);
    if (done) return;
    silence = setTimeout(() => abort.abort(), SILENCE_MS);
    retryMs = RETRY_MIN_MS;
    setLink('live');
    const frames = (text + value).split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) deliver(frame);
  }
}

function deliver(frame: string): void {
  const match = /^event: (.*)\ndata: (.*)$/.exec(frame);
  if (match === null) return;
  const message: unknown = JSON.parse(match[2]!);
  for (const listener of listeners.get(match[1]!) ?? []) listener(message);
}
