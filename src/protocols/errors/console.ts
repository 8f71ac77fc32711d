import type { ErrorEntry } from './index.ts';

export const CONSOLE_ERRORS = {} as const satisfies Record<string, ErrorEntry>;
