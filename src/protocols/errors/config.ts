import type { ErrorEntry } from './index.ts';

export const CONFIG_ERRORS = {} as const satisfies Record<string, ErrorEntry>;
