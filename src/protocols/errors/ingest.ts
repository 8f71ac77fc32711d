import type { ErrorEntry } from './index.ts';

export const INGEST_ERRORS = {} as const satisfies Record<string, ErrorEntry>;
