import type { Ref } from '../../../src/protocols/ref.ts';
import type { ActorContext } from '../../../src/supervision/actor.ts';
import { type ActorSpec, actor } from '../../../src/supervision/spec.ts';
import { receive, type SpreadAlarmMessage, type SpreadAlarmState, type Wish } from './behaviour.ts';
import type { DutyMessage, SpreadAlarmCommand } from './protocol.ts';

export interface SpreadAlarmOptions {
  readonly id: string;
  readonly limitBasisPoints: number;
  readonly patienceMs: number;
  readonly duty: Ref<DutyMessage>;
}

type Message = SpreadAlarmCommand | SpreadAlarmMessage;

export function spreadAlarm(options: SpreadAlarmOptions): ActorSpec<SpreadAlarmCommand> {
  return actor<Message, SpreadAlarmState>({
    id: options.id,
    // Only the newest spread of a symbol matters, and every question must be heard.
    mailbox: {
      capacity: 512,
      policy: 'conflate',
      keyOf: (message) => ('symbol' in message ? message.symbol : message),
    },
    behaviour: {
      init: () => new Map(),
      receive: (state, message, context) => {
        if (message.kind === 'status') {
          message.replyTo.tell({ wide: [...state].filter(([, now]) => now === 'alarmed').map(([symbol]) => symbol) });
          return state;
        }
        const [next, wishes] = receive(state, message, options.limitBasisPoints);
        for (const wish of wishes) fulfil(wish, context, options);
        return next;
      },
      summary: (state) => Object.fromEntries(state),
    },
  });
}

function fulfil(wish: Wish, { timers }: ActorContext<Message>, options: SpreadAlarmOptions): void {
  const { symbol } = wish;
  if (wish.kind === 'wait') timers.once(symbol, options.patienceMs, { kind: 'patience-over', symbol });
  else if (wish.kind === 'stop-waiting') timers.cancel(symbol);
  else options.duty.tell({ kind: wish.what, symbol });
}
