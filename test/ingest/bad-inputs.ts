import { gzipSync } from 'node:zlib';
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
  { name: 'Infinity', code: 'not_json', make: inPayload('"price":Infinity') },
  { name: 'a number with a plus', code: 'not_json', make: inPayload('"price":+1') },
  { name: 'a number without its zero', code: 'not_json', make: inPayload('"price":.5') },
  { name: 'a number with a zero too many', code: 'not_json', make: inPayload('"price":01') },
  { name: 'hexadecimal', code: 'not_json', make: inPayload('"price":0x10') },
  { name: 'single quotes', code: 'not_json', make: inPayload("'price':1") },
  { name: 'a comment', code: 'not_json', make: inPayload('/* price */ "price":1') },
  { name: 'a comma too many', code: 'not_json', make: swap(/\}$/, ',}') },
  { name: 'an unknown escape', code: 'not_json', make: inPayload('"note":"\\x41"') },
  { name: 'True', code: 'not_json', make: inPayload('"maker":True') },
  { name: 'UTF-16 without a mark', code: 'not_json', make: bytes((good) => Buffer.from(good, 'utf16le')) },
  {
    name: 'UTF-16 with its mark',
    code: 'bad_utf8',
    make: bytes((good) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(good, 'utf16le')])),
  },
  { name: 'gzip', code: 'bad_utf8', make: bytes((good) => gzipSync(good)) },
  {
    name: 'a surrogate in UTF-8',
    code: 'bad_utf8',
    make: bytes((good) => Buffer.from(good.replace('"payload":{', '"payload":{"n":"\xed\xa0\x80",'), 'latin1')),
  },
  {
    name: 'an overlong slash',
    code: 'bad_utf8',
    make: bytes((good) => Buffer.from(good.replace('"payload":{', '"payload":{"n":"\xc0\xaf",'), 'latin1')),
  },
  { name: '1 MiB', code: 'too_big', make: inPayload(`"fat":"${'x'.repeat(1024 * 1024)}"`) },
  { name: 'truncated', code: 'truncated', make: bytes((good) => good.slice(0, -20)) },
  { name: 'two envelopes', code: 'trailing_bytes', make: bytes((good) => good + good) },
  { name: 'nested 33 deep', code: 'too_deep', make: inPayload(nested(30)) },
  { name: 'nested 100,000 deep', code: 'too_deep', make: inPayload(nested(100_000)) },
  { name: 'U+0000', code: 'nul_character', make: inPayload('"note":"a\\u0000b"') },
  { name: 'lone surrogate', code: 'lone_surrogate', make: inPayload('"note":"\\ud800x"') },
  { name: 'lone low surrogate', code: 'lone_surrogate', make: inPayload('"note":"x\\udc00"') },
  { name: 'surrogates the wrong way round', code: 'lone_surrogate', make: inPayload('"note":"\\ude00\\ud83d"') },
  { name: 'U+0000 in a key', code: 'nul_character', make: inPayload('"no\\u0000te":1') },
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
  { name: 'data is null', code: 'wrong_type', make: swap(/"data":\{.*\}\}$/, '"data":null}') },
  { name: 'payload is missing', code: 'missing_field', make: swap(/"payload":\{[^}]*\},/, '') },
  { name: 'payload is a list', code: 'wrong_type', make: swap(/"payload":\{[^}]*\}/, '"payload":[]') },
  { name: 'version is a number', code: 'wrong_type', make: swap(/"version":"1.0.0"/, '"version":1') },
  { name: 'id is a number', code: 'wrong_type', make: swap(/"id":"[^"]*"/, '"id":17') },
  { name: 'symbol is null', code: 'wrong_type', make: swap(/"symbol":"[^"]*"/, '"symbol":null') },
  { name: 'ts is null', code: 'wrong_type', make: swap(/"ts":"\d+"/, '"ts":null') },
  { name: 'unknown type', code: 'bad_type', make: swap(/"type":"data"/, '"type":"date"') },
  { name: 'version is a word', code: 'bad_version', make: swap(/"version":"1.0.0"/, '"version":"latest"') },
  { name: 'version 2', code: 'unsupported_version', make: swap(/"version":"1.0.0"/, '"version":"2.0.0"') },
  { name: 'id starts with 8', code: 'bad_id', make: swap(/"id":"./, '"id":"8') },
  { name: 'id of 25 digits', code: 'bad_id', make: swap(/"id":"./, '"id":"') },
  { name: 'id is a UUID', code: 'bad_id', make: swap(/"id":"[^"]*"/, '"id":"0192f2a4-8b1c-7def-8000-0123456789ab"') },
  { name: 'id with an I', code: 'bad_id', make: swap(/"id":"[^"]*"/, '"id":"01ARZ3NDEKTSV4RRFFQ69G5FAI"') },
  { name: 'id with an escape', code: 'bad_id', make: swap(/"id":"[^"]*"/, '"id":"\\u003001ARZ3NDEKTSV4RRFFQ69G5FA"') },
  { name: 'ts with a fraction', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":1731700000123456789.0') },
  { name: 'ts in exponent form', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":"1.7317e18"') },
  { name: 'ts is an ISO date', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":"2024-11-15T20:26:40Z"') },
  { name: 'ts is empty', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":""') },
  { name: 'ts is zero', code: 'bad_ts', make: swap(/"ts":"\d+"/, '"ts":0') },
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
  { name: 'connection is empty', code: 'bad_connection', make: swap(/"connection_id":"[^"]*"/, '"connection_id":""') },
  { name: 'connection is a number', code: 'wrong_type', make: swap(/"connection_id":"[^"]*"/, '"connection_id":1') },
  { name: 'source with DEL', code: 'bad_source', make: swap(/"source":"[^"]*"/, '"source":"a\u007f"') },
  { name: 'control without op', code: 'bad_control', make: swap(/"type":"data"/, '"type":"control"') },
];
