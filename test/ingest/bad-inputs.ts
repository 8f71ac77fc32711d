import type { DeadLetterCode } from '../../src/protocols/dead-letter.ts';

/** A class of bad input: how to spoil a good envelope, and the one code that must come of it. */
export interface BadInput {
  readonly name: string;
  readonly code: DeadLetterCode;
  /** The field of the stream entry and its bytes. */
  make(good: string): { readonly field: string; readonly bytes: Buffer };
}

const bytes = (make: (good: string) => string | Buffer) => (good: string) => {
  const made = make(good);
  return { field: 'envelope', bytes: typeof made === 'string' ? Buffer.from(made) : made };
};
const swap = (pattern: RegExp, by: string) =>
  bytes((good) => {
    const made = good.replace(pattern, by);
    if (made === good) throw new Error(`${pattern} is not in ${good}`);
    return made;
  });
const inPayload = (text: string) => swap(/"payload":\{/, `"payload":{${text},`);
const nested = (depth: number) => `"deep":${'['.repeat(depth)}${']'.repeat(depth)}`;

export const BAD_INPUTS: readonly BadInput[] = [
  {
    name: 'another field in the entry',
    code: 'no_envelope_field',
    make: (good) => ({ field: 'body', bytes: Buffer.from(good) }),
  },
  { name: 'empty', code: 'empty', make: bytes(() => '') },
  { name: 'white space', code: 'empty', make: bytes(() => ' \n\t ') },
  { name: '300 KiB', code: 'too_big', make: inPayload(`"fat":"${'x'.repeat(300 * 1024)}"`) },
  { name: 'byte order mark', code: 'byte_order_mark', make: bytes((good) => `\ufeff${good}`) },
  {
    name: 'invalid UTF-8',
    code: 'bad_utf8',
    make: bytes((good) => Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xff, 0x7d])])),
  },
  { name: 'not JSON', code: 'not_json', make: bytes(() => 'price=64000.1') },
  { name: 'NaN', code: 'not_json', make: inPayload('"price":NaN') },
  { name: 'raw control character', code: 'not_json', make: inPayload('"note":"a\u0001b"') },
  { name: 'truncated', code: 'truncated', make: bytes((good) => good.slice(0, -20)) },
  { name: 'two envelopes', code: 'trailing_bytes', make: bytes((good) => good + good) },
  { name: 'nested 33 deep', code: 'too_deep', make: inPayload(nested(30)) },
  { name: 'nested 100,000 deep', code: 'too_deep', make: inPayload(nested(100_000)) },
  { name: 'U+0000', code: 'nul_character', make: inPayload('"note":"a\\u0000b"') },
  { name: 'lone surrogate', code: 'lone_surrogate', make: inPayload('"note":"\\ud800x"') },
  { name: '1e400', code: 'number_out_of_range', make: inPayload('"price":1e400') },
  { name: '1e200000', code: 'number_out_of_range', make: inPayload('"price":1e200000') },
  { name: '1000 digits', code: 'number_out_of_range', make: inPayload(`"price":${'9'.repeat(1000)}`) },
  { name: '__proto__', code: 'forbidden_key', make: inPayload('"__proto__":{"admin":true}') },
  { name: '__proto__ in escapes', code: 'forbidden_key', make: inPayload('"\\u005f_proto__":1') },
  { name: 'constructor', code: 'forbidden_key', make: inPayload('"constructor":{}') },
  { name: 'id twice', code: 'duplicate_key', make: swap(/^\{/, '{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV",') },
  { name: 'an array', code: 'not_an_object', make: bytes((good) => `[${good}]`) },
  { name: 'no type', code: 'missing_field', make: swap(/"type":"data",/, '') },
  { name: 'no version', code: 'missing_field', make: swap(/"version":"1.0.0",/, '') },
  { name: 'no symbol', code: 'missing_field', make: swap(/"symbol":"[^"]*",/, '') },
  { name: 'no ts_event', code: 'missing_field', make: swap(/"ts_event":"[^"]*",/, '') },
  { name: 'payload is a string', code: 'wrong_type', make: swap(/"payload":\{[^}]*\}/, '"payload":"{}"') },
  { name: 'source is a number', code: 'wrong_type', make: swap(/"source":"[^"]*"/, '"source":7') },
  { name: 'meta is a list', code: 'wrong_type', make: swap(/"meta":\{[^}]*\}/, '"meta":[]') },
  { name: 'unknown type', code: 'bad_type', make: swap(/"type":"data"/, '"type":"date"') },
  { name: 'version is a word', code: 'bad_version', make: swap(/"version":"1.0.0"/, '"version":"latest"') },
  { name: 'version 2', code: 'unsupported_version', make: swap(/"version":"1.0.0"/, '"version":"2.0.0"') },
  { name: 'id starts with 8', code: 'bad_id', make: swap(/"id":"./, '"id":"8') },
  { name: 'id of 25 digits', code: 'bad_id', make: swap(/"id":"./, '"id":"') },
  { name: 'ts is a float', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":1.7317e18') },
  { name: 'ts is negative', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":-1731700000123456789') },
  { name: 'ts overflows', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":9223372036854775808') },
  { name: 'ts_collector in words', code: 'bad_ts', make: swap(/"ts_collector":"\d+"/, '"ts_collector":"now"') },
  { name: 'unknown event type', code: 'bad_event_type', make: swap(/"event_type":"[^"]*"/, '"event_type":"rumour"') },
  { name: 'empty source', code: 'bad_source', make: swap(/"source":"[^"]*"/, '"source":""') },
  { name: 'symbol of 10 KiB', code: 'bad_symbol', make: swap(/"symbol":"[^"]*"/, `"symbol":"${'B'.repeat(10_240)}"`) },
  { name: 'symbol with a line break', code: 'bad_symbol', make: swap(/"symbol":"[^"]*"/, '"symbol":"BTC\\nUSD"') },
  {
    name: 'connection of 1 KiB',
    code: 'bad_connection',
    make: swap(/"connection_id":"[^"]*"/, `"connection_id":"${'c'.repeat(1024)}"`),
  },
  { name: 'control without op', code: 'bad_control', make: swap(/"type":"data"/, '"type":"control"') },
];
