import { describe, expect, it } from 'vitest';
import type { Ref } from '../protocols/ref.ts';
import { ask } from './ask.ts';
import type { MailboxPolicy } from './mailbox.ts';
import { actor } from './spec.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { Stage } from './testing/stage.ts';

type Question = { readonly kind: 'echo' | 'silence' | 'throw' | 'reject' | 'stop'; readonly replyTo: Ref<string> };

const AT_ONCE = { minMs: 0, maxMs: 0, jitter: 0, resetAfterMs: 1000 };

async function answerer(mailbox: { capacity: number; policy: MailboxPolicy } = { capacity: 8, policy: 'reject' }) {
  const held: Ref<string>[] = [];
  const spec = actor<Question, number>({
    id: 'a',
    backoff: AT_ONCE,
    mailbox: { ...mailbox, keyOf: (question) => question.kind },
    behaviour: {
      init: () => 0,
      receive: (state, question, context) => {
        if (question.kind === 'echo') question.replyTo.tell('yes');
        if (question.kind === 'silence') held.push(question.replyTo);
        if (question.kind === 'stop') context.stop();
        if (question.kind === 'throw') throw new Error('no idea');
        return question.kind === 'reject' ? Promise.reject(new Error('no idea')) : state + 1;
      },
      summary: (state) => state,
    },
  });
  const stage = await Stage.started({ children: [spec] });
  const put = (kind: Question['kind'], deadlineMs = 1000) => {
    const asked = stage.system.ask(spec.ref, (replyTo: Ref<string>) => ({ kind, replyTo }), deadlineMs);
    asked.catch(() => {});
    return asked;
  };
  return { stage, spec, held, put };
}

const codeOf = (asked: Promise<unknown>) => asked.then(String, (error: { code: string }) => error.code);

describe('a question', () => {
  it('is settled by the reply', async () => {
    const { stage, put } = await answerer();
    expect(await stage.finish(put('echo'))).toBe('yes');
    expect(stage.clock.pending).toBe(0);
    await stage.stop();
  });

  it('fails at once when handling it throws, now or later', async () => {
    const { stage, put } = await answerer();
    for (const kind of ['throw', 'reject'] as const) {
      const error = await stage.finish(put(kind)).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: 'TW_ASK_FAILED', cause: { message: 'no idea' } });
    }
    expect(stage.clock.now()).toBe(0);
    await stage.stop();
  });

  it('fails at its deadline; the work is not cancelled and the late reply answers dead', async () => {
    const { stage, held, put } = await answerer();
    const asked = put('silence', 50);
    await stage.advance(49);
    expect(held).toHaveLength(1);
    await stage.advance(1);
    expect(await codeOf(asked)).toBe('TW_ASK_TIMEOUT');
    expect(held[0]!.tell('late')).toBe('dead');
    await stage.stop();
  });

  it('fails when the life that took it ends', async () => {
    const { stage, put } = await answerer();
    const asked = put('silence');
    await stage.settle();
    put('throw');
    await stage.settle();
    expect(await codeOf(asked)).toBe('TW_ASK_TERMINATED');
    expect(stage.clock.now()).toBe(0);
    await stage.stop();
  });

  it('that still waits in the mailbox waits through a restart', async () => {
    const { stage, put } = await answerer();
    put('throw');
    expect(await stage.finish(put('echo'))).toBe('yes');
    expect(stage.system.tree().children[0]!.incarnation).toBe(2);
    await stage.stop();
  });

  it('is refused by a full mailbox', async () => {
    const { stage, put } = await answerer({ capacity: 1, policy: 'reject' });
    stage.system.suspend('/a');
    put('echo');
    expect(await codeOf(put('echo'))).toBe('TW_ASK_REFUSED');
    await stage.stop();
  });

  it('is refused when it is dropped, as the oldest or the newest, or conflated away', async () => {
    for (const [policy, refused] of [
      ['drop-oldest', 0],
      ['drop-newest', 1],
      ['conflate', 0],
    ] as const) {
      const { stage, put } = await answerer({ capacity: 1, policy });
      stage.system.suspend('/a');
      const both = [put('echo'), put('echo')];
      expect(await codeOf(both[refused]!)).toBe('TW_ASK_REFUSED');
      stage.system.resume('/a');
      await stage.settle();
      expect(await both[1 - refused]).toBe('yes');
      await stage.stop();
    }
  });

  it('fails at once when the actor is down for good, and when it goes down with the question in its mailbox', async () => {
    const { stage, put } = await answerer();
    stage.system.suspend('/a');
    const waiting = put('echo');
    await stage.finish(stage.system.root.deleteChild('a'));
    expect(await codeOf(waiting)).toBe('TW_ASK_TERMINATED');
    expect(await codeOf(put('echo'))).toBe('TW_ASK_TERMINATED');
    await stage.stop();
  });

  it('that cannot be put fails and leaves no timer behind', async () => {
    const clock = new ManualClock();
    const broken = () => {
      throw new Error('no question');
    };
    const target: Ref<string> = { path: '/a', tell: () => 'accepted' };
    await expect(ask(target, broken, { clock, deadlineMs: 1000 })).rejects.toMatchObject({ code: 'TW_ASK_FAILED' });
    expect(clock.pending).toBe(0);
  });

  it('can be put to anything that can be told', async () => {
    const clock = new ManualClock();
    const echo: Ref<Ref<string>> = { path: '/echo', tell: (replyTo) => replyTo.tell('yes') };
    expect(await ask(echo, (replyTo: Ref<string>) => replyTo, { clock, deadlineMs: 1000 })).toBe('yes');
    for (const [admission, code] of [
      ['dead', 'TW_ASK_TERMINATED'],
      ['rejected', 'TW_ASK_REFUSED'],
    ] as const) {
      const deaf: Ref<Ref<string>> = { path: '/deaf', tell: () => admission };
      expect(await codeOf(ask(deaf, (replyTo: Ref<string>) => replyTo, { clock, deadlineMs: 1000 }))).toBe(code);
    }
    expect(clock.pending).toBe(0);
  });
});
