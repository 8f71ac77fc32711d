import { isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { showValue } from '../../protocols/config-issue.ts';
import { CONTROL_CHARACTER, type ConfigPath, type Finding } from './yaml-document.ts';

/** Told of each thing that is refused, with its offset in the text. */
export type Refuse = (offset: number, path: ConfigPath, finding: Finding) => void;

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype', '<<']);
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/**
 * Plain objects, arrays and scalars from parsed nodes. Only nested mappings, lists and scalars are let through: an alias
 * can blow a small file up, a tag can make objects of other kinds, a prototype key can reach where it should not.
 */
export function plainValue(node: unknown, refuse: Refuse, path: ConfigPath = []): unknown {
  const forbid = (expected: string, got: string) =>
    refuse(offsetOf(node), path, { code: 'TW_CONFIG_FORBIDDEN', expected, got });
  if (node === null || node === undefined) return null;
  if (isAlias(node)) return forbid('the value itself', `the alias *${node.source}`);
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return forbid('a mapping, a list or a scalar', 'something else');
  if (node.anchor !== undefined) return forbid('no anchor', `&${node.anchor}`);
  if (node.tag !== undefined) return forbid('no tag', node.tag);
  if (isMap(node)) return plainMapping(node, refuse, path);
  if (isSeq(node)) return node.items.map((item, index) => plainValue(item, refuse, [...path, index]));
  if (typeof node.value === 'string' && (LONE_SURROGATE.test(node.value) || CONTROL_CHARACTER.test(node.value))) {
    const finding: Finding = { code: 'TW_CONFIG_VALUE', expected: 'printable text', got: showValue(node.value) };
    return refuse(offsetOf(node), path, finding);
  }
  return node.value;
}

function plainMapping(node: YAMLMap, refuse: Refuse, path: ConfigPath): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (const { key, value } of node.items) {
    const name = isScalar(key) && typeof key.value === 'string' && key.tag === undefined ? key.value : undefined;
    if (name === undefined || isAlias(key) || (isScalar(key) && key.anchor !== undefined)) {
      refuse(offsetOf(key), path, { code: 'TW_CONFIG_FORBIDDEN', expected: 'a key that is text', got: shownKey(key) });
    } else if (FORBIDDEN_KEYS.has(name)) {
      const finding: Finding = { code: 'TW_CONFIG_FORBIDDEN', expected: 'an ordinary key', got: `\`${name}\`` };
      refuse(offsetOf(key), [...path, name], finding);
    } else {
      entries.push([name, plainValue(value, refuse, [...path, name])]);
    }
  }
  return Object.fromEntries(entries);
}

function shownKey(key: unknown): string {
  if (!isScalar(key)) return isAlias(key) ? 'an alias' : 'a collection';
  if (typeof key.value === 'string') return 'one with a tag or an anchor';
  return `${String(key.value)} (quote it if it is meant)`;
}

function offsetOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}
