import { describe, expect, it } from 'vitest';
import type { ActorInfo } from '../../supervision/inspect.ts';
import { ActorMetrics } from './actor-metrics.ts';

const latency = { count: 1, p50: 1, p99: 2, max: 3 };
const actor = (path: string, messages: number) =>
  ({ path, messages, restarts: 0, unhandled: 0, state: 'running', waitMs: latency, mailbox: undefined }) as ActorInfo;

const linesOf = (text: string, name: string) => text.split('\n').filter((line) => line.startsWith(name));

describe('the metrics of actors', () => {
  it('sum those beyond the limit as `other`, and count that', async () => {
    const metrics = new ActorMetrics(2);
    const text = await metrics.render([actor('/a', 1), actor('/b', 2), actor('/c', 3), actor('/d', 4)], new Map(), 0);
    expect(linesOf(text, 'actor_messages_total{')).toEqual([
      'actor_messages_total{path="/a"} 1',
      'actor_messages_total{path="/b"} 2',
      'actor_messages_total{path="other"} 7',
    ]);
    expect(linesOf(text, 'actor_label_overflow_total ')).toEqual(['actor_label_overflow_total 2']);
    expect(text).not.toContain('actor_wait_seconds{path="other"');
  });

  it('leave an actor its label while it is there, and give it to another when it is gone', async () => {
    const metrics = new ActorMetrics(1);
    await metrics.render([actor('/b', 1)], new Map(), 0);
    const crowded = await metrics.render([actor('/a', 1), actor('/b', 2)], new Map([['/a', 5]]), 0);
    expect(crowded).toContain('actor_messages_total{path="/b"} 2');
    expect(crowded).toContain('actor_failures_total{path="other"} 5');
    const after = await metrics.render([actor('/a', 1)], new Map(), 0);
    expect(after).toContain('actor_messages_total{path="/a"} 1');
    expect(linesOf(after, 'actor_label_overflow_total ')).toEqual(['actor_label_overflow_total 1']);
  });
});
