import { ENVELOPE_TYPES, EVENT_TYPES, LIMITS } from './envelope.ts';

const NANOSECONDS = {
  description:
    'Nanoseconds since 1970-01-01 UTC: an integer, or the same digits as a string (for writers without 64-bit integers).',
  oneOf: [
    { type: 'integer', minimum: 1, maximum: 9223372036854775807n },
    { type: 'string', pattern: '^[0-9]{1,19}$' },
  ],
} as const;

const named = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength }) as const;

const META = {
  type: ['object', 'null'],
  description: 'About the module. `connection_id` names the connection within which order is kept.',
  properties: {
    connection_id: named(LIMITS.connectionBytes),
    module_version: { type: 'string' },
    region: { type: 'string' },
  },
} as const;

const EVENT = {
  type: 'object',
  required: ['event_type', 'source', 'symbol', 'ts_event', 'ts_collector', 'payload'],
  properties: {
    event_type: { enum: EVENT_TYPES },
    source: named(LIMITS.sourceBytes),
    symbol: { ...named(LIMITS.symbolBytes), description: 'May be left out of heartbeat and status events.' },
    ts_event: NANOSECONDS,
    ts_collector: NANOSECONDS,
    payload: {
      type: 'object',
      description: 'Fields of the event type; include sequence numbers where the venue has them.',
    },
    meta: META,
  },
} as const;

const CONTROL = {
  type: 'object',
  required: ['source'],
  properties: { source: named(LIMITS.sourceBytes), op: { enum: ['ping', 'describe'] }, meta: META },
} as const;

const variant = (types: readonly string[], data: unknown) => ({ properties: { type: { enum: types }, data } });

/** The envelope as JSON Schema, printed to docs/envelope.schema.json. Integers beyond 2^53 are printed in full. */
const ENVELOPE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Tapeworks envelope',
  description:
    'One message from a module, in the field `envelope` of a Redis stream entry. At most 256 KiB, nested at most 32 deep, UTF-8, no U+0000.',
  type: 'object',
  required: ['type', 'version', 'id', 'ts', 'data'],
  properties: {
    type: { enum: ENVELOPE_TYPES },
    version: { type: 'string', pattern: '^1\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)([-+].*)?$' },
    id: {
      type: 'string',
      pattern: '^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$',
      description: 'ULID; the key against duplicates.',
    },
    ts: NANOSECONDS,
    data: { type: 'object' },
  },
  oneOf: [
    variant(['data'], EVENT),
    variant(['heartbeat'], { ...EVENT, required: ['source'] }),
    variant(['control'], { ...CONTROL, required: ['source', 'op'] }),
    variant(['ack', 'error'], CONTROL),
  ],
} as const;

/** The schema as text. JSON.stringify refuses bigint, so those pass through as a marked string and lose the marks. */
export function envelopeSchemaText(): string {
  const marked = JSON.stringify(ENVELOPE_SCHEMA, (_, value) => (typeof value === 'bigint' ? `<<${value}>>` : value), 2);
  return `${marked.replace(/"<<(\d+)>>"/g, '$1')}\n`;
}
