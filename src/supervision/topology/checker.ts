import { type ConfigIssue, showValue } from '../../protocols/config-issue.ts';
import type { ErrorCode } from '../../protocols/errors/index.ts';
import type { KnownVenue } from '../../protocols/venue.ts';
import type { KernelConfig } from './kernel-schema.ts';
import type { SettledTopology } from './kline-venues.ts';
import type { ModuleConfig } from './module-schema.ts';
import { didYouMean } from './nearest.ts';
import type { ConfigPath, YamlDocument } from './yaml-document.ts';

/** A value that its schema has passed, with the document that it stands in. */
export interface Located<T> {
  readonly document: YamlDocument;
  readonly value: T;
}

/** The three kinds of files together, each valid by itself. */
export interface LocatedConfiguration {
  readonly kernel: Located<KernelConfig>;
  readonly topology: Located<SettledTopology>;
  readonly modules: readonly Located<ModuleConfig>[];
}

/** What a check compares with besides the files. */
export interface Surroundings {
  /** The venues that the program can speak to. */
  readonly venues: readonly KnownVenue[];
}

/** Collects what is wrong between parts that are each right by themselves. */
export class Checker {
  readonly issues: ConfigIssue[] = [];

  /** Reports unless `holds`; the place is the value at `path`, and `got` the value itself where nothing else is said. */
  expect(
    holds: boolean,
    document: YamlDocument,
    path: ConfigPath,
    expected: string,
    got: unknown,
    more: { readonly code?: ErrorCode; readonly suggestion?: string | undefined } = {},
  ): void {
    if (holds) return;
    const shown = typeof got === 'object' && got !== null && 'text' in got ? String(got.text) : showValue(got);
    const { code = 'TW_CONFIG_CONFLICT', suggestion } = more;
    const finding = { code, expected, got: shown };
    this.issues.push(document.at(path, suggestion === undefined ? finding : { ...finding, suggestion }));
  }

  /** Reports a name that is not among those that exist, with the one that was probably meant. */
  expectOneOf(document: YamlDocument, path: ConfigPath, what: string, names: readonly string[], name: string): void {
    const expected = `${what} (${names.join(', ')})`;
    this.expect(names.includes(name), document, path, expected, name, { suggestion: didYouMean(name, names) });
  }

  /** Reports each value that occurred before, at its second place. */
  expectDistinct(document: YamlDocument, path: ConfigPath, values: readonly string[]): void {
    values.forEach((value, index) => {
      const first = values.indexOf(value);
      this.expect(first === index, document, [...path, index], 'each of them once', { text: `\`${value}\` again` });
    });
  }
}

/** 5000 -> 5s; 1500 -> 1500ms: how a duration is shown again. */
export function showDuration(ms: number): string {
  for (const [unit, length] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const) {
    if (ms > 0 && ms % length === 0) return `${ms / length}${unit}`;
  }
  return `${ms}ms`;
}

/** 67108864 -> 64MiB; 1000 -> 1000B. */
export function showSize(bytes: number): string {
  for (const [unit, length] of [
    ['TiB', 2 ** 40],
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const) {
    if (bytes > 0 && bytes % length === 0) return `${bytes / length}${unit}`;
  }
  return `${bytes}B`;
}
