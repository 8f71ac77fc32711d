import { describe, expect, it } from 'vitest';
import { ulidToUuid } from '../../src/protocols/ulid.ts';
import { counts, IngestRig, until } from './rig.ts';

// Producers that were not written with our helper: other languages write the same envelope in other forms. Each is stored
// with every digit and every character that it was sent with.

const rig = new IngestRig();
const TS = '1731700000123456789';

interface Form {
  readonly name: string;
  readonly text: string;
  /** Other fields of the stream entry, before and after the envelope. */
  readonly around?: readonly [readonly string[], readonly string[]];
  readonly row: Readonly<Record<string, unknown>>;
}

const event = (more: string, payload: string) =>
  `"event_type":"trade","source":"unit","symbol":"BTC-USD","ts_event":"${TS}","ts_collector":"${TS}"${more},"payload":${payload}`;
const wrapped = (id: string, data: string, type = 'data') =>
  `{"type":"${type}","version":"1.0.0","id":"${id}","ts":"${TS}","data":{${data}}}`;
const id = (n: number) => `01JCQ8Z6V43N5K8T2M7R9X0Q${String(n).padStart(2, '0')}`;

const FORMS: readonly Form[] = [
  {
    name: 'keys in another order, with white space, as json.dumps writes them',
    text: `{"data": {"payload": {"price": 64000.10, "side": "buy"}, "symbol": "BTC-USD", "source": "unit", "ts_collector": ${TS},\n "ts_event": ${TS}, "event_type": "trade", "meta": {"region": "eu", "connection_id": "py-1"}},\t"ts": ${TS}, "id": "${id(1)}", "version": "1.4.2", "type": "data"}`,
    row: { payload: '{"side": "buy", "price": 64000.10}', connection_id: 'py-1', ts_event: TS },
  },
  {
    name: 'integers beyond 2^53, exponents and many digits',
    text: wrapped(
      id(2),
      event('', '{"big":12345678901234567890123,"small":1e-7,"large":1E+20,"exact":0.1000000000000000000001}'),
    ),
    row: {
      payload:
        '{"big": 12345678901234567890123, "exact": 0.1000000000000000000001, "large": 100000000000000000000, "small": 0.0000001}',
    },
  },
  {
    name: 'everything beyond ASCII in escapes',
    text: wrapped(id(3), event('', '{"note":"\\u00fc \\ud83d\\ude00 \\u2028 \\/ \\b"}')).replace(
      '"unit"',
      '"\\u0075nit"',
    ),
    row: { source: 'unit', payload: '{"note": "ü 😀 \u2028 / \\b"}' },
  },
  {
    name: 'UTF-8 as it is',
    text: wrapped(id(4), event(',"meta":{"connection_id":"ü-1"}', '{"note":"ü 😀 漢"}')),
    row: { connection_id: 'ü-1', payload: '{"note": "ü 😀 漢"}' },
  },
  {
    name: 'no meta, and fields that nobody knows',
    text: wrapped(id(5), `${event('', '{}')},"later":{"a":[1,null,true]},"ts_kernel":"1"`).replace(
      '{"type"',
      '{"trace":"x","type"',
    ),
    row: { payload: '{}', connection_id: '', meta: null },
  },
  { name: 'a null meta', text: wrapped(id(6), event(',"meta":null', '{}')), row: { meta: null, connection_id: '' } },
  {
    name: 'a key of the payload twice: the last counts, as in JSON',
    text: wrapped(id(7), event('', '{"a":1,"a":2}')),
    row: { payload: '{"a": 2}' },
  },
  { name: 'an id in lower case', text: wrapped(id(8).toLowerCase(), event('', '{}')), row: { event_type: 'trade' } },
  {
    name: 'other fields beside the envelope',
    text: wrapped(id(9), event('', '{}')),
    around: [
      ['trace', 'abc'],
      ['span', 'def'],
    ],
    row: { event_type: 'trade' },
  },
  {
    name: 'a heartbeat with nothing but its source',
    text: wrapped(id(10), '"source":"unit"', 'heartbeat'),
    row: { event_type: 'heartbeat', symbol: '', payload: '{}', ts_event: TS },
  },
  {
    name: 'a payload of 200 KiB',
    text: wrapped(id(11), event('', `{"fat":"${'x'.repeat(200 * 1024)}"}`)),
    row: { event_type: 'trade' },
  },
  {
    name: 'the largest time there is',
    text: wrapped(id(12), event('', '{}')).replace(`"ts_event":"${TS}"`, '"ts_event":9223372036854775807'),
    row: { ts_event: '9223372036854775807' },
  },
];

describe('an envelope of a producer that is not ours', () => {
  it.each(FORMS.map((form) => [form.name, form] as const))('%s', async (_, { text, around, row }) => {
    const [before, after] = around ?? [[], []];
    await rig.client.xadd('events', '*', ...before, 'envelope', text, ...after);
    await rig.withPlane({}, (plane) => until('it is acknowledged', () => counts(plane).acked === 1));
    const found = await rig.rows<Record<string, unknown>>(
      'SELECT id, event_type, source, symbol, connection_id, ts_event::text, payload::text, meta::text FROM events',
    );
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject(row);
    const sent = /"id": ?"([^"]+)"/.exec(text)![1]!;
    expect(found[0]!['id']).toBe(ulidToUuid(sent.toUpperCase()));
  });
});
