import type { z } from 'zod';
import { type Checked, type ConfigIssue, showValue, sortIssues } from '../../protocols/config-issue.ts';
import { durationMs, expectationOf, sizeBytes } from './leaves.ts';
import { didYouMean } from './nearest.ts';
import { knownKeys, knownValues, schemaAt, unwrap } from './schema-walk.ts';
import type { ConfigPath, YamlDocument } from './yaml-document.ts';

/** Checks a document against its schema: the checked value with all defaults, or every issue in order of position. */
export function checkSchema<S extends z.ZodType>(schema: S, document: YamlDocument): Checked<z.output<S>> {
  const result = schema.safeParse(document.value);
  if (result.success) return { ok: true, value: result.data };
  const issues = result.error.issues.flatMap((issue) => issuesOf(schema, document, issue));
  return { ok: false, issues: sortIssues(issues) };
}

function issuesOf(schema: z.ZodType, document: YamlDocument, issue: z.core.$ZodIssue): readonly ConfigIssue[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schemaAt(schema, path));
    return issue.keys.map((key) => unknownKey(document, [...path, key], key, known));
  }
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? 'another name';
    const got = showValue(path.at(-1));
    return [document.atKey(path, { code: 'TW_CONFIG_VALUE', expected, got })];
  }
  const value = valueAt(document.value, path);
  const code = value === undefined ? 'TW_CONFIG_MISSING' : 'TW_CONFIG_VALUE';
  const finding = { code, expected: issue.message, got: showValue(value) } as const;
  const suggestion = suggestionFor(schemaAt(schema, path), value);
  return [document.at(path, suggestion === undefined ? finding : { ...finding, suggestion })];
}

function unknownKey(document: YamlDocument, path: ConfigPath, key: string, known: readonly string[]): ConfigIssue {
  return document.atKey(path, {
    code: 'TW_CONFIG_UNKNOWN_KEY',
    expected: 'a known key',
    got: showValue(key),
    suggestion: didYouMean(key, known) ?? `known are ${known.join(', ')}`,
  });
}

function suggestionFor(schema: z.core.$ZodType | undefined, value: unknown): string | undefined {
  if (schema === undefined) return undefined;
  const expected = expectationOf(unwrap(schema).schema) ?? '';
  if (typeof value === 'string') return didYouMean(value, knownValues(schema)) ?? withoutSpace(expected, value);
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) return undefined;
  if (expected.startsWith('a duration')) return `give it a unit, such as ${value}ms or ${value}s`;
  if (expected.startsWith('a size')) return `give it a unit, such as ${value}KiB or ${value}MiB`;
  return undefined;
}

/** `5 s` and `5S` for `5s`. */
function withoutSpace(expected: string, value: string): string | undefined {
  const tight = value.replaceAll(' ', '');
  const parse = expected.startsWith('a duration') ? durationMs : expected.startsWith('a size') ? sizeBytes : undefined;
  const meant = [tight, tight.toLowerCase()].find((form) => parse !== undefined && !Number.isNaN(parse(form)));
  return meant === undefined || meant === value ? undefined : `did you mean \`${meant}\`?`;
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}
