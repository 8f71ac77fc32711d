// What the ingest actors of one thread hand to each other as objects rather than by message: the sink's connections, which
// every reader of the thread writes through. The supervisor restarts readers after a sink that failed, so a reader never
// holds connections of an earlier life.
import { TapeworksError } from '../../protocols/errors/index.ts';
import type { SinkSettings } from '../../protocols/topology.ts';
import type { Republisher } from '../republish/republisher.ts';
import type { EventWriter } from '../sink/event-writer.ts';

export interface OpenSink {
  readonly settings: SinkSettings;
  readonly writers: readonly EventWriter[];
  readonly republisher: Republisher | undefined;
}

let open: OpenSink | undefined;

export function shareSink(sink: OpenSink | undefined): void {
  open = sink;
}

export function sharedSink(): OpenSink {
  if (open !== undefined) return open;
  throw new TapeworksError('TW_INVARIANT', 'a reader started before the sink of its thread');
}
