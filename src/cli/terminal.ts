/** Text from outside must not move the cursor or change colours: control characters become dots. */
export function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, '·');
}

/** The keys of a chunk of input: what is typed fast, pasted or sent by a script comes in one piece. */
export function keysIn(chunk: string): readonly string[] {
  return chunk.match(/\p{Cc}\[[0-9;]*[A-Za-z~]|./gsu) ?? [];
}

/** Exactly so many columns: cut with an ellipsis or padded. */
export function fit(text: string, width: number, side: 'left' | 'right' = 'left'): string {
  const clean = plain(text);
  if (clean.length > width) return `${clean.slice(0, Math.max(0, width - 1))}…`.slice(0, width);
  return side === 'left' ? clean.padEnd(width) : clean.padStart(width);
}

const CODES = { bold: 1, dim: 2, inverse: 7, red: 31, green: 32, yellow: 33 } as const;
export type Paint = (text: string, style: keyof typeof CODES) => string;

export const painted: Paint = (text, style) => `\u001b[${CODES[style]}m${text}\u001b[0m`;
export const unpainted: Paint = (text) => text;

export const paintFor = (stream: { readonly isTTY?: boolean }): Paint => (takesColour(stream) ? painted : unpainted);

/** NO_COLOR counts when it is set to anything; a dumb terminal shows the codes as they are. */
export const takesColour = (stream: { readonly isTTY?: boolean }): boolean =>
  stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb';

/** The terminal's width, or COLUMNS where the output is not a terminal and a script asks for one. */
export function outputColumns(): number | undefined {
  const given = Number(process.env['COLUMNS']);
  return process.stdout.columns ?? (Number.isInteger(given) && given > 0 ? given : undefined);
}

/** 950, 1.2k, 34k, 1.7M. */
export function short(value: number): string {
  if (value < 1000) return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : String(Math.round(value));
  const [divided, unit] = value < 1e6 ? [value / 1e3, 'k'] : value < 1e9 ? [value / 1e6, 'M'] : [value / 1e9, 'G'];
  return `${divided < 10 ? divided.toFixed(1) : Math.round(divided)}${unit}`;
}

/** A duration given in microseconds: 12us, 3.4ms, 1.2s. */
export function micros(us: number | null): string {
  if (us === null) return '-';
  if (us < 1000) return `${us < 10 ? us.toFixed(1) : Math.round(us)}us`;
  return us < 1e6 ? `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)}ms` : `${(us / 1e6).toFixed(1)}s`;
}

/** 42s, 7min, 3.5h, 12d. */
export function span(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${Math.round(seconds)}s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)}min`;
  return seconds < 86_400 ? `${(seconds / 3600).toFixed(1)}h` : `${Math.round(seconds / 86_400)}d`;
}
