// Live updates as server-sent events, conflated for each reader.
//
//   every tick, for each reader:   socket full?  --yes--> skip; after CUT_AFTER_MS of it, cut
//                                       |no
//                                  one frame a topic, from the reader's cursor to the present
//
// So what waits for a reader is at most one tick's frames, whatever the reader does.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refused, SAFETY_HEADERS } from './respond.ts';
import type { Topic } from './topics.ts';

export const TICK_MS = 200;
const PING_MS = 15_000;
const CUT_AFTER_MS = 30_000;
const TOPICS_PER_READER_MAX = 8;

interface Reader {
  readonly response: ServerResponse;
  readonly topics: readonly string[];
  readonly cursors: number[];
  blockedSinceMs: number | undefined;
  wroteMs: number;
}

/** Makes the topic of a name, or undefined where there is none; names come from outside. */
export type TopicMaker = (name: string) => Topic | undefined;

export class LiveHub {
  readonly #make: TopicMaker;
  readonly #readersMax: number;
  readonly #readers = new Set<Reader>();
  readonly #topics = new Map<string, { readonly topic: Topic; readers: number }>();
  #timer: NodeJS.Timeout | undefined;
  /** Ticks at which a reader could not take more. */
  skipped = 0;
  cut = 0;

  constructor(make: TopicMaker, readersMax: number) {
    this.#make = make;
    this.#readersMax = readersMax;
  }

  get readers(): number {
    return this.#readers.size;
  }

  open(request: IncomingMessage, response: ServerResponse, names: readonly string[]): void {
    if (this.#readers.size >= this.#readersMax) {
      const text = `${this.#readersMax} live dashboards are open, and that is the limit`;
      throw new Refused(503, 'TW_HTTP_TOO_MANY', text, { 'Retry-After': '10' });
    }
    if (names.length === 0 || names.length > TOPICS_PER_READER_MAX || new Set(names).size !== names.length) {
      throw new Refused(400, 'TW_HTTP_BAD_REQUEST', `name 1 to ${TOPICS_PER_READER_MAX} different topics`);
    }
    this.#join(names);
    response.writeHead(200, { ...SAFETY_HEADERS, 'Content-Type': 'text/event-stream; charset=utf-8' });
    if (request.method === 'HEAD') {
      response.end();
      this.#leave(names);
      return;
    }
    const now = performance.now();
    const cursors = names.map(() => 0);
    const reader: Reader = { response, topics: names, cursors, blockedSinceMs: undefined, wroteMs: now };
    this.#readers.add(reader);
    response.on('drain', () => {
      reader.blockedSinceMs = undefined;
    });
    response.on('close', () => this.#drop(reader));
    response.on('error', () => this.#drop(reader));
    this.#timer ??= setInterval(() => this.tick(), TICK_MS);
    this.#refresh(names, now);
    this.#serve(reader, now);
  }

  tick(): void {
    const now = performance.now();
    this.#refresh(this.#topics.keys(), now);
    for (const reader of this.#readers) this.#serve(reader, now);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const reader of [...this.#readers]) {
      reader.response.end();
      this.#drop(reader);
    }
  }

  #refresh(names: Iterable<string>, now: number): void {
    for (const name of names) this.#topics.get(name)?.topic.refresh(now);
  }

  #serve(reader: Reader, now: number): void {
    if (reader.blockedSinceMs !== undefined) {
      this.skipped++;
      if (now - reader.blockedSinceMs < CUT_AFTER_MS) return;
      this.cut++;
      reader.response.destroy();
      return;
    }
    let text = '';
    reader.topics.forEach((name, at) => {
      const frame = this.#topics.get(name)!.topic.frame(reader.cursors[at]!);
      if (frame === undefined) return;
      reader.cursors[at] = frame.cursor;
      if (frame.text !== '') text += `event: ${name}\ndata: ${frame.text}\n\n`;
    });
    if (text === '' && now - reader.wroteMs < PING_MS) return;
    reader.wroteMs = now;
    if (!reader.response.write(text === '' ? ':\n\n' : text)) reader.blockedSinceMs = now;
  }

  /** All topics or none. */
  #join(names: readonly string[]): void {
    const joined: string[] = [];
    for (const name of names) {
      const known = this.#topics.get(name);
      const topic = known?.topic ?? this.#make(name);
      if (topic === undefined) {
        this.#leave(joined);
        throw new Refused(404, 'TW_HTTP_NO_SOURCE', 'there is no such topic here');
      }
      this.#topics.set(name, { topic, readers: (known?.readers ?? 0) + 1 });
      joined.push(name);
    }
  }

  #leave(names: readonly string[]): void {
    for (const name of names) {
      const entry = this.#topics.get(name)!;
      entry.readers--;
      if (entry.readers > 0) continue;
      entry.topic.close();
      this.#topics.delete(name);
    }
  }

  #drop(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    this.#leave(reader.topics);
    if (this.#readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
