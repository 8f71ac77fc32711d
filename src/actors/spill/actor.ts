import type { Ref } from '../../protocols/ref.ts';
import type { SpillSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { shareSpill } from '../kernel-ingest/thread-share.ts';
import { SpillYard } from './yard.ts';

export type SpillCommand =
  /** A person has seen the damage: health may turn green again. Answers how many notes of it there were. */
  { readonly kind: 'acknowledge-damage'; readonly replyTo: Ref<{ readonly acknowledged: number }> };

/**
 * Holds the spill folder for this process while it lives: two kernels in one folder would erase each other's segments. The
 * quota is one over all streams. Each reader keeps its own segments in it, and they end with the readers, which the
 * supervisor stops first.
 */
export function spill({ settings }: { readonly settings: SpillSettings }): Behaviour<SpillCommand, SpillYard> {
  return {
    init() {
      const yard = new SpillYard(settings);
      shareSpill(yard);
      return yard;
    },

    async receive(yard, message) {
      message.replyTo.tell({ acknowledged: await yard.acknowledge() });
      return yard;
    },

    async end(yard) {
      shareSpill(undefined);
      await yard.release();
    },

    summary: (yard) => ({ folder: yard.settings.folder, bytes: yard.bytes, maxBytes: yard.settings.maxBytes }),
  };
}
