import { type CST, Parser } from 'yaml';

// The parser that composes documents recurses, so its depth must be known before it runs: on a few kilobytes of `[` it
// not only overflows the stack (a RangeError could be caught) but can end the whole process, when V8 compiles a regular
// expression on what little stack is left. The token tree below it is built and walked here without recursion.

export const NESTING_MAX = 32;

/** The offset of the first collection that is nested too deep, if there is one. */
export function findTooDeep(text: string): number | undefined {
  const open: { token: CST.Token; depth: number }[] = [];
  for (const token of new Parser().parse(text)) open.push({ token, depth: 0 });
  let first: number | undefined;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (depth > NESTING_MAX) {
      if (first === undefined || token.offset < first) first = token.offset;
      continue;
    }
    for (const child of childrenOf(token)) open.push({ token: child, depth: depth + ('items' in child ? 1 : 0) });
  }
  return first;
}

function* childrenOf(token: CST.Token): Generator<CST.Token> {
  if (token.type === 'document' && token.value !== undefined) yield token.value;
  if (!('items' in token)) return;
  for (const item of token.items) {
    if (item.key) yield item.key;
    if (item.value) yield item.value;
  }
}
