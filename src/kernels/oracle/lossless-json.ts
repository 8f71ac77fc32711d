// JSON with nothing lost: numbers stay text, keys stay in order and may repeat, escapes stay visible.

export type Json =
  | { readonly kind: 'string'; readonly text: string; readonly escaped: boolean }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [key: string, value: Json])[] }
  | { readonly kind: 'array'; readonly items: readonly Json[] }
  | { readonly kind: 'literal'; readonly value: boolean | null };

const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * The runtime's own parser decides what is JSON. Then every token is spelled as a string that carries its kind (k key,
 * s string, e string with escapes, n number), and the same parser builds the tree. A string with escapes keeps them.
 */
export function parseLossless(text: string): Json | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let ordinal = 0;
  const marked = text.replace(TOKEN, (token: string, colon: string | undefined) => {
    if (token[0] !== '"') return `"n${token}"`;
    if (colon === undefined)
      return token.includes('\\') ? JSON.stringify(`e${token.slice(1, -1)}`) : `"s${token.slice(1)}`;
    const kind = token.includes('\\') ? 'K' : 'k';
    return `"${kind}${String(ordinal++).padStart(8, '0')}${token.slice(1)}`;
  });
  return treeOf(JSON.parse(marked));
}

function treeOf(value: unknown): Json {
  if (typeof value === 'string') {
    const text = value.slice(1);
    return value[0] === 'n' ? { kind: 'number', text } : { kind: 'string', text, escaped: value[0] === 'e' };
  }
  if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return { kind: 'literal', value: value as boolean | null };
  const fields = Object.entries(value).map(([key, member]) => [keyOf(key), treeOf(member)] as const);
  return { kind: 'object', fields };
}

/** An escaped key can never be looked up: it keeps a mark that no plain key has. */
const keyOf = (marked: string) => (marked[0] === 'K' ? `\u0000${marked.slice(9)}` : marked.slice(9));

export function hasEscapedKey(object: Json): boolean {
  return object.kind === 'object' && object.fields.some(([key]) => key.startsWith('\u0000'));
}

/** The first field of that name. */
export function fieldOf(object: Json | undefined, key: string): Json | undefined {
  return object?.kind === 'object' ? object.fields.find(([name]) => name === key)?.[1] : undefined;
}

export function stringOf(value: Json | undefined): string | undefined {
  return value?.kind === 'string' && !value.escaped ? value.text : undefined;
}

export function nestingOf(value: Json): number {
  if (value.kind === 'array') return 1 + Math.max(0, ...value.items.map(nestingOf));
  if (value.kind === 'object') return 1 + Math.max(0, ...value.fields.map(([, member]) => nestingOf(member)));
  return 0;
}
