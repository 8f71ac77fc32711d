import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Ref } from '../../src/protocols/ref.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { Stage } from '../../src/supervision/testing/stage.ts';
import { spreadAlarm } from './spread-alarm/actor.ts';
import { receive, type SpreadAlarmMessage, type SymbolState, type Wish } from './spread-alarm/behaviour.ts';
import type { DutyMessage, SpreadStatus } from './spread-alarm/protocol.ts';

describe('the behaviour, as a table', () => {
  const spread = (basisPoints: number): SpreadAlarmMessage => ({ kind: 'spread', symbol: 'BTC-USD', basisPoints });
  const over: SpreadAlarmMessage = { kind: 'patience-over', symbol: 'BTC-USD' };
  const report = (what: 'too-wide' | 'normal-again'): Wish => ({ kind: 'report', what, symbol: 'BTC-USD' });
  const table: [SymbolState | undefined, SpreadAlarmMessage, SymbolState | undefined, Wish[]][] = [
    [undefined, spread(5), undefined, []],
    [undefined, spread(11), 'watching', [{ kind: 'wait', symbol: 'BTC-USD' }]],
    ['watching', spread(12), 'watching', []],
    ['watching', spread(10), undefined, [{ kind: 'stop-waiting', symbol: 'BTC-USD' }]],
    ['watching', over, 'alarmed', [report('too-wide')]],
    ['alarmed', spread(12), 'alarmed', []],
    ['alarmed', spread(9), undefined, [report('normal-again')]],
  ];

  it.each(table)('from %s, %o leads to %s', (before, message, after, wishes) => {
    const state = new Map(before === undefined ? [] : [['BTC-USD', before] as const]);
    const [next, wished] = receive(state, message, 10);
    expect([next.get('BTC-USD'), wished]).toEqual([after, wishes]);
  });
});

it('the actor alarms after its patience, answers questions, and comes back fresh after a failure', async () => {
  const told: string[] = [];
  let isDutyBroken = false;
  const duty: Ref<DutyMessage> = {
    path: '/duty',
    tell: (message) => {
      if (isDutyBroken) throw new Error('pager is down');
      told.push(`${message.kind} ${message.symbol}`);
      return 'accepted';
    },
  };
  const alarm = spreadAlarm({ id: 'spread-alarm', limitBasisPoints: 10, patienceMs: 500, duty });
  const stage = await Stage.started({ children: [supervisor({ id: 'alarms', children: [alarm] })] });
  const status = () =>
    stage.finish(
      stage.system.ask(alarm.ref, (replyTo: Ref<SpreadStatus>) => ({ kind: 'status' as const, replyTo }), 1000),
    );

  alarm.ref.tell({ kind: 'spread', symbol: 'BTC-USD', basisPoints: 50 });
  await stage.advance(499);
  expect(told).toEqual([]);
  await stage.advance(1);
  expect(told).toEqual(['too-wide BTC-USD']);
  expect(await status()).toEqual({ wide: ['BTC-USD'] });

  isDutyBroken = true;
  alarm.ref.tell({ kind: 'spread', symbol: 'BTC-USD', basisPoints: 1 });
  await stage.settle();
  isDutyBroken = false;
  await stage.advance(1000);
  expect(stage.system.tree().children[0]!.children[0]).toMatchObject({
    path: '/alarms/spread-alarm',
    restarts: 1,
    lastFailure: { message: 'pager is down' },
  });
  expect(await status()).toEqual({ wide: [] });
  await stage.stop();
});

it('the guide shows this code, line by line', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const guide = readFileSync(`${root}docs/writing-an-actor.md`, 'utf8');
  const sources = ['protocol.ts', 'behaviour.ts', 'actor.ts', '../spread-alarm.test.ts']
    .map((file) => readFileSync(`${root}test/guide/spread-alarm/${file}`, 'utf8'))
    .join('\n');
  const shown = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].flatMap((block) => block[1]!.split('\n'));
  expect(shown.length).toBeGreaterThan(60);
  const lines = new Set(sources.split('\n').map((line) => line.trim()));
  expect(shown.filter((line) => line.trim() !== '// ...' && !lines.has(line.trim()))).toEqual([]);
});
