import { type ErrorCode, remedyFor } from '../../protocols/errors/index.ts';

export const AREAS = ['configuration', 'machine', 'pinning', 'ports', 'servers', 'clock', 'disk', 'locks'] as const;
export type Area = (typeof AREAS)[number];

/** ok: as it should be; note: worth knowing; warning: it runs, but worse or less safely; failure: it will not run. */
export type Severity = 'ok' | 'note' | 'warning' | 'failure';

export interface Finding {
  readonly area: Area;
  readonly severity: Severity;
  /** Of the check, whatever came of it; docs/errors.md lists them. */
  readonly code: ErrorCode;
  /** What was found, with the figures. */
  readonly text: string;
  /** What to do; empty where nothing is wrong. */
  readonly remedy: string;
}

export function finding(area: Area, severity: Severity, code: ErrorCode, text: string): Finding {
  return { area, severity, code, text, remedy: severity === 'ok' ? '' : remedyFor(code) };
}

export interface Verdict {
  readonly verdict: 'healthy' | 'warnings' | 'failures';
  readonly failures: number;
  readonly warnings: number;
  readonly findings: readonly Finding[];
}

/** All findings in the order of their areas, and what they come to. */
export function verdictOf(findings: readonly Finding[]): Verdict {
  const count = (severity: Severity) => findings.filter((one) => one.severity === severity).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const verdict = failures > 0 ? 'failures' : warnings > 0 ? 'warnings' : 'healthy';
  const ordered = AREAS.flatMap((area) => findings.filter((one) => one.area === area));
  return { verdict, failures, warnings, findings: ordered };
}
