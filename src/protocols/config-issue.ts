import type { ErrorCode } from './errors/index.ts';

/** One thing that is wrong with a configuration file, and where. Positions count from 1; 0 means the file as a whole. */
export interface ConfigIssue {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Where in the document, such as `feeds.binance.depth`; empty for the document itself. */
  readonly path: string;
  readonly code: ErrorCode;
  readonly expected: string;
  readonly got: string;
  /** What was probably meant: a key, a value, or a way out. */
  readonly suggestion?: string;
}

/**
 * `config/topology.yaml:14:9 feeds.binance.depth: expected 1..100, got 500`. What comes from the file is shown escaped
 * and shortened, so that a hostile file cannot write to the terminal.
 */
export function renderIssue(issue: ConfigIssue): string {
  const where = issue.line === 0 ? issue.file : `${issue.file}:${issue.line}:${issue.column}`;
  const path = issue.path === '' ? '' : ` ${issue.path}`;
  const hint = issue.suggestion === undefined ? '' : `; ${issue.suggestion}`;
  return `${where}${path}: expected ${issue.expected}, got ${issue.got}${hint}`;
}

/** By file, then by position: the order in which a reader mends them. */
export function sortIssues(issues: readonly ConfigIssue[]): readonly ConfigIssue[] {
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...issues].sort(
    (a, b) =>
      order(a.file, b.file) ||
      a.line - b.line ||
      a.column - b.column ||
      order(a.path, b.path) ||
      order(a.expected, b.expected),
  );
}

const SHOWN_MAX = 60;

/** How a value from a file is shown in a message. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value !== 'string') return String(value);
  const shown = value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value;
  return JSON.stringify(shown);
}

/** What checking gives: the checked thing, or every issue that was found. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly ConfigIssue[] };
