import type { ErrorEntry } from './index.ts';

export const VENUE_ERRORS = {} as const satisfies Record<string, ErrorEntry>;
