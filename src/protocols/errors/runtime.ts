import type { ErrorEntry } from './index.ts';

export const RUNTIME_ERRORS = {
  TW_INVARIANT: {
    means: 'Something that must hold by construction does not: a defect of the program.',
    remedy: 'Report it with the log lines around it; the actor that saw it is restarted by its supervisor.',
  },
} as const satisfies Record<string, ErrorEntry>;
