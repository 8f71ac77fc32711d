import { afterEach, describe, expect, it } from 'vitest';
import type { FeedEvidence, StreamKind, SubscriptionEffect, SubscriptionEvent } from '../protocols/venue.ts';
import { NO_EVIDENCE, witness } from './feed.fixture.ts';
import { judgeFeed } from './feed.ts';
import { VENUES } from './index.ts';
import { closeAll, connect, simulator } from './simulation/rig.ts';
import { NO_SUBSCRIPTIONS, subscriptionProtocol } from './subscriptions.ts';
import { streamName } from './venue.ts';

afterEach(closeAll);

describe.each(VENUES.map((venue) => [venue.facts.title, venue] as const))('%s', (_title, venue) => {
  const { facts, dialect } = venue;
  const kinds = Object.keys(facts.streams) as StreamKind[];

  it('subscribes to all its kinds of streams on its simulator, which go live and can be left', async () => {
    const sim = await simulator({ symbols: ['BTC-USD'] });
    const client = await connect(sim, facts.id);
    const symbol = sim.truth.symbols(facts.id)[0]!;
    const streams = kinds.map((kind) => streamName(facts, kind, symbol));
    const protocol = subscriptionProtocol(facts, dialect);
    const seen: SubscriptionEffect[] = [];
    let state = NO_SUBSCRIPTIONS;
    let read = 0;
    const tell = (event: SubscriptionEvent) => {
      const [next, effects] = protocol.receive(state, event);
      state = next;
      seen.push(...effects);
      for (const effect of effects) if (effect.kind === 'send') client.send(effect.text);
    };
    const readOn = () => {
      for (; read < client.frames.length; read++) {
        tell({ kind: 'control', frame: dialect.classify(client.frames[read]!), nowNs: 2e9 });
      }
    };

    tell({ kind: 'desire', streams, nowNs: 1e9 });
    tell({ kind: 'opened', nowNs: 1e9 });
    await client.until(() => {
      readOn();
      return streams.every((stream) => state.joined.has(stream));
    }, 'all acks');
    expect(seen.filter((effect) => effect.kind === 'refused' || effect.kind === 'complain')).toEqual([]);

    const before = client.frames.length;
    sim.advance(100);
    client.socket.ping();
    await new Promise((resolve) => client.socket.once('pong', resolve));
    const kindsOfFrames = new Set(client.frames.slice(before).map((frame) => dialect.classify(frame).kind));
    expect([...kindsOfFrames].filter((kind) => kind !== 'heartbeat')).toEqual(['data']);

    tell({ kind: 'desire', streams: [], nowNs: 10e9 });
    await client.until(() => {
      readOn();
      return streams.every((stream) => !state.joined.has(stream));
    }, 'all streams to be left');
    expect(seen.filter((effect) => effect.kind === 'left')).toHaveLength(streams.length);
  });

  it('shows a stream that is acked and then silent within seconds, and takes it out in the end', () => {
    for (const kind of kinds) {
      const { cadence } = facts.streams[kind]!;
      let evidence: FeedEvidence = witness(NO_EVIDENCE, { kind: 'requested', nowNs: 1e9 });
      evidence = witness(evidence, { kind: 'acked', nowNs: 1e9 });
      const after = (seconds: number) => {
        const nowNs = (1 + seconds) * 1e9;
        return judgeFeed(cadence, facts.ackWithinMs, witness(evidence, { kind: 'alive', nowNs }), nowNs);
      };
      expect(after(10)).toMatchObject({ reason: 'acked-then-silent' });
      expect(after(300)).toMatchObject({ phase: 'stale', reason: 'acked-then-silent' });
    }
  });

  it('has evidence often enough for what it calls alive', () => {
    const everyMs = facts.keepalive.everyMs;
    for (const { cadence } of Object.values(facts.streams)) {
      if (cadence.kind === 'change') expect(cadence.evidenceWithinMs).toBeGreaterThan(2 * everyMs);
      else expect(cadence.staleAfterMs).toBeGreaterThan(cadence.quietAfterMs);
    }
  });
});
