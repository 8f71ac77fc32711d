import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument } from 'yaml';
import { type Checked, type ConfigIssue, sortIssues } from '../../protocols/config-issue.ts';
import type { ErrorCode } from '../../protocols/errors/index.ts';
import { findTooDeep, NESTING_MAX } from './yaml-nesting.ts';
import { plainValue } from './yaml-plain.ts';

// Text that anyone may have written becomes plain objects, or a list of issues; never an exception.
//
//   bytes -> size, UTF-8, control characters -> nesting -> YAML -> aliases, tags, keys -> plain value + positions

export const FILE_BYTES_MAX = 256 * 1024;

/** Anything but tab, line ends and what has a shape: the C0 and C1 controls. */
export const CONTROL_CHARACTER = /[^\t\n\r -~\u00a0-\uffff]/;

export type ConfigPath = readonly (string | number)[];

/** What is wrong, without the place. */
export interface Finding {
  readonly code: ErrorCode;
  readonly expected: string;
  readonly got: string;
  readonly suggestion?: string;
}

/** A parsed file: its plain value, and where each part of it stands. */
export interface YamlDocument {
  readonly file: string;
  readonly value: unknown;
  /** The finding, placed at the value of `path`, or at the nearest ancestor that is written in the file. */
  at(path: ConfigPath, finding: Finding): ConfigIssue;
  /** The same, placed at the key that ends `path`. */
  atKey(path: ConfigPath, finding: Finding): ConfigIssue;
}

/** `feeds.binance.depth`; `klines.intervals[2]`. A key that holds dots or spaces is quoted. */
function pathText(path: ConfigPath): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const shown = /^[\w/:*-]{1,64}$/.test(part) ? part : JSON.stringify(part.slice(0, 64));
      return index === 0 ? shown : `.${shown}`;
    })
    .join('');
}

export function readYaml(file: string, bytes: Uint8Array): Checked<YamlDocument> {
  if (bytes.byteLength > FILE_BYTES_MAX) return unreadable(file, 'at most 256 KiB', `${bytes.byteLength} bytes`);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return unreadable(file, 'UTF-8 without a byte order mark', 'a byte order mark');
  }
  try {
    return parseText(file, new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof TypeError) return unreadable(file, 'UTF-8', 'bytes that are not');
    if (error instanceof RangeError) return unreadable(file, 'a file of ordinary shape', 'one too deep to read');
    throw error;
  }
}

/** A finding about the file as a whole. */
export function unreadable(file: string, expected: string, got: string): Checked<never> {
  return { ok: false, issues: [{ file, line: 0, column: 0, path: '', code: 'TW_CONFIG_FILE', expected, got }] };
}

function parseText(file: string, text: string): Checked<YamlDocument> {
  const place = (offset: number, path: ConfigPath, finding: Finding): ConfigIssue => {
    const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
    const line = text.slice(0, lineStart).split('\n').length;
    return { file, line, column: offset - lineStart + 1, path: pathText(path), ...finding };
  };
  const refuse = (offset: number, code: ErrorCode, expected: string, got: string): Checked<never> => ({
    ok: false,
    issues: [place(offset, [], { code, expected, got })],
  });

  const control = CONTROL_CHARACTER.exec(text);
  if (control !== null) {
    const hex = control[0].charCodeAt(0).toString(16).padStart(4, '0');
    return refuse(control.index, 'TW_CONFIG_SYNTAX', 'printable text', `the control character U+${hex}`);
  }
  const directive = /^%/m.exec(text);
  if (directive !== null) {
    return refuse(directive.index, 'TW_CONFIG_FORBIDDEN', 'no directive', 'a line that starts with %');
  }
  const tooDeep = findTooDeep(text);
  if (tooDeep !== undefined) {
    return refuse(tooDeep, 'TW_CONFIG_FORBIDDEN', `at most ${NESTING_MAX} levels of nesting`, 'more');
  }
  const document = parseDocument(text, {
    ...{ strict: true, uniqueKeys: true, schema: 'core', merge: false, customTags: [] },
    ...{ prettyErrors: false, logLevel: 'error' },
  });
  const issues = document.errors.map((error) => place(error.pos[0], [], syntaxFinding(error, text)));
  if (issues.length > 0) return { ok: false, issues: sortIssues(issues) };
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    return unreadable(file, 'a mapping', 'an empty file');
  }
  const value = plainValue(document.contents, (offset, path, finding) => issues.push(place(offset, path, finding)));
  if (issues.length > 0) return { ok: false, issues: sortIssues(issues) };
  return {
    ok: true,
    value: {
      file,
      value,
      at: (path, finding) => place(offsetOf(document, path, 'value'), path, finding),
      atKey: (path, finding) => place(offsetOf(document, path, 'key'), path, finding),
    },
  };
}

function syntaxFinding(error: { code: string; message: string; pos: [number, number] }, text: string): Finding {
  const code = 'TW_CONFIG_SYNTAX';
  if (error.code === 'MULTIPLE_DOCS') return { code, expected: 'one document', got: 'a second one' };
  if (error.code !== 'DUPLICATE_KEY') return { code, expected: 'well-formed YAML', got: `an error: ${error.message}` };
  const key = /^["']?([^\s"':]{1,40})/.exec(text.slice(error.pos[0]))?.[1] ?? 'one';
  return { code, expected: 'each key once', got: `\`${key}\` again` };
}

/** Where the value (or the key) at `path` begins; what is not written is found at its nearest written ancestor. */
function offsetOf(document: Document, path: ConfigPath, part: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const pair: Pair | undefined = isMap(node)
      ? (node.items as Pair[]).find((item) => isScalar(item.key) && String(item.key.value) === String(step))
      : undefined;
    if (pair === undefined && !isSeq(node)) return offset;
    const key = startOf(pair?.key);
    node = pair === undefined ? (isSeq(node) ? node.items[Number(step)] : undefined) : pair.value;
    const start = part === 'key' && depth === path.length - 1 ? key : undefined;
    offset = start ?? writtenStartOf(node) ?? key ?? offset;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}

/** Undefined for a value that is not written at all (`key:` and nothing), so that the issue lands on its key. */
function writtenStartOf(node: unknown): number | undefined {
  if (isScalar(node) && node.range !== undefined && node.range !== null && node.range[0] === node.range[1]) {
    return undefined;
  }
  return startOf(node);
}
