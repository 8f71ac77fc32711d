import { DEAD_LETTER_CODES, type DeadLetter, type Refusal } from '../../protocols/dead-letter.ts';
import { decodeEnvelope, ENVELOPE_FIELD, isRefusal } from '../../protocols/envelope.ts';
import type { EventRow } from '../../protocols/ingest.ts';
import type { KernelIngestSettings } from '../../protocols/topology.ts';
import { PlainRow, type ReadEntry } from './row-parser.ts';

export interface DecodedEntries {
  readonly rows: readonly EventRow[];
  readonly letters: readonly DeadLetter[];
  /** Entries that were trimmed away while they were pending: their bytes are gone. */
  readonly trimmed: readonly string[];
  readonly bytes: number;
}

/** Sorts entries into rows, dead letters and those that are gone. */
export function decodeEntries(
  entries: readonly ReadEntry[],
  tsKernel: bigint,
  deliveriesOf: (id: string) => number,
  stream: string,
  settings: Pick<KernelIngestSettings, 'maxEntryBytes' | 'maxDepth'>,
): DecodedEntries {
  const rows: EventRow[] = [];
  const letters: DeadLetter[] = [];
  const trimmed: string[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (entry instanceof PlainRow) {
      rows.push(entry);
      bytes += entry.bytes;
      continue;
    }
    const { id, body, deleted, fields } = entry;
    if (deleted) {
      trimmed.push(id);
      continue;
    }
    const alone = onlyEnvelope(body, fields);
    const event = isRefusal(alone) ? alone : decodeEnvelope(alone.body, settings.maxEntryBytes, settings.maxDepth);
    const raw = isRefusal(alone) ? joined(fields) : alone.body;
    if (isRefusal(event)) letters.push(letterOf(event, stream, id, deliveriesOf(id), raw));
    else {
      rows.push({ event, entryId: id, tsKernel, deliveries: deliveriesOf(id) });
      bytes += event.raw.length;
    }
  }
  return { rows, letters, trimmed, bytes };
}

const FIELD = Buffer.from(ENVELOPE_FIELD);

/** The bytes of the one envelope of an entry. Other fields may stand beside it; a second envelope may not. */
function onlyEnvelope(body: Buffer | undefined, fields: readonly Buffer[]): { readonly body: Buffer } | Refusal {
  if (body === undefined)
    return { code: 'no_envelope_field', path: '', reason: `the entry has no field "${ENVELOPE_FIELD}"` };
  const named = fields.filter((field, at) => at % 2 === 0 && field.equals(FIELD)).length;
  if (named > 1) return { code: 'duplicate_key', path: ENVELOPE_FIELD, reason: `the entry has ${named} such fields` };
  return { body };
}

export function letterOf(
  refusal: Refusal,
  stream: string,
  entryId: string,
  deliveries: number,
  raw: Buffer,
): DeadLetter {
  return { ...refusal, stage: DEAD_LETTER_CODES[refusal.code].stage, stream, entryId, deliveries, raw };
}

/** The fields of an entry that has no envelope, one `name=value` a line, for a person to look at. */
function joined(fields: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2)
    parts.push(fields[at]!, Buffer.from('='), fields[at + 1]!, Buffer.from('\n'));
  return Buffer.concat(parts);
}
