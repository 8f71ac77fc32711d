import { z } from 'zod';

// The kinds of values that the configuration is made of. Each carries two texts: what it is for, which becomes the
// reference page and the editor's hover, and what it looks like, which completes "expected ..., got ...".

const expectations = new WeakMap<z.core.$ZodType, string>();

/** What a value of this schema looks like, such as `1..100` or `a duration 1ms..1h`. */
export function expectationOf(schema: z.core.$ZodType): string | undefined {
  return expectations.get(schema);
}

function leaf<S extends z.ZodType>(schema: S, about: string, expected: string): S {
  const described = schema.describe(about);
  expectations.set(described, expected);
  return described;
}

export function integer(about: string, min: number, max: number) {
  const error = `${min}..${max}`;
  const check = { error, abort: true };
  return leaf(z.int({ error, abort: true }).min(min, check).max(max, check), about, error);
}

/** A share between two bounds, such as a jitter of 0.2. */
export function decimal(about: string, min: number, max: number) {
  const error = `a number ${min}..${max}`;
  const check = { error, abort: true };
  return leaf(z.number({ error }).min(min, check).max(max, check), about, error);
}

export function flag(about: string) {
  return leaf(z.boolean({ error: 'true or false' }), about, 'true or false');
}

export function choice<const V extends readonly [string, ...string[]]>(about: string, values: V) {
  const error = `one of ${values.join(', ')}`;
  return leaf(z.enum(values, { error }), about, error);
}

/** Text of a given form; `expected` says the form in words. */
export function text(about: string, expected: string, pattern: RegExp) {
  const error = expected;
  return leaf(z.string({ error }).regex(pattern, { error, abort: true }), about, expected);
}

/** A processor core by number, or the machine's last one. */
export function core(about: string) {
  const error = '`last` or a core number 0..1023';
  return leaf(z.union([z.literal('last'), z.int().min(0).max(1023)], { error }), about, error);
}

const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d{1,9})(ms|s|m|h|d)$/;

export function durationMs(written: string): number {
  const match = DURATION.exec(written);
  return match === null ? Number.NaN : Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS];
}

/** `500ms`, `5s`, `1m`, `24h`, `7d`; milliseconds once checked. */
export function duration(about: string, min: string, max: string) {
  const error = `a duration ${min}..${max}`;
  const check = { error, abort: true };
  const written = z.string({ error }).regex(DURATION, check).transform(durationMs);
  return leaf(written.pipe(z.number().min(durationMs(min), check).max(durationMs(max), check)), about, error);
}

const BYTES = {
  ...{ B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  ...{ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
} as const;
const SIZE = /^(\d{1,9})(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/;

export function sizeBytes(written: string): number {
  const match = SIZE.exec(written);
  return match === null ? Number.NaN : Number(match[1]) * BYTES[match[2] as keyof typeof BYTES];
}

/** `512KiB`, `64MiB`, `1GB`; bytes once checked. */
export function size(about: string, min: string, max: string) {
  const error = `a size ${min}..${max}`;
  const check = { error, abort: true };
  const written = z.string({ error }).regex(SIZE, check).transform(sizeBytes);
  return leaf(written.pipe(z.number().min(sizeBytes(min), check).max(sizeBytes(max), check)), about, error);
}

export function list<S extends z.ZodType>(about: string, of: string, item: S, min: number, max: number) {
  const error = min === 0 ? `a list of at most ${max} ${of}` : `a list of ${min} to ${max} ${of}`;
  const check = { error, abort: true };
  return leaf(z.array(item, { error }).min(min, check).max(max, check), about, error);
}

/** A mapping from names to values of one kind. */
export function mapping<K extends z.core.$ZodRecordKey, S extends z.ZodType>(
  about: string,
  of: string,
  key: K,
  value: S,
) {
  const error = `a mapping of ${of}`;
  return leaf(z.record(key, value, { error: mappingError(error) }), about, error);
}

/** A mapping with known keys; any other key is refused. */
export function section<const S extends z.core.$ZodLooseShape>(about: string, shape: S) {
  const error = 'a mapping of settings';
  return leaf(z.strictObject(shape, { error: mappingError(error) }), about, error);
}

function mappingError(expected: string) {
  return (issue: { readonly code?: string | undefined }) => (issue.code === 'invalid_type' ? expected : undefined);
}
