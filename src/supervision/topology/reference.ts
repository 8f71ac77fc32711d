import { z } from 'zod';
import { expectationOf } from './leaves.ts';
import { unwrap } from './schema-walk.ts';

/** The JSON Schema of a configuration file, as editors want it: of what is written, before durations become numbers. */
export function jsonSchemaOf(schema: z.ZodType, title: string): object {
  const made = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (typeof jsonSchema.default === 'object' && Object.keys(jsonSchema.default ?? {}).length === 0) {
        delete jsonSchema.default;
      }
    },
  });
  return { $schema: made.$schema, title, ...made };
}

interface Row {
  readonly path: string;
  readonly takes: string;
  readonly byDefault: string;
  readonly about: string;
}

/** A section of the reference page: each key of a file with what it takes, its default and what it is for. */
export function referenceOf(schema: z.ZodType): string {
  const lines = ['| key | takes | default | what it is for |', '|---|---|---|---|'];
  for (const row of rowsOf(schema, '')) {
    lines.push(`| ${[`\`${row.path}\``, row.takes, row.byDefault, row.about].map(cell).join(' | ')} |`);
  }
  return lines.join('\n');
}

const cell = (text: string) => text.replaceAll('|', '\\|');

function rowsOf(outer: z.core.$ZodType, path: string): readonly Row[] {
  const { schema, optional, written } = unwrap(outer);
  const at = (key: string) => (path === '' ? key : `${path}.${key}`);
  const own: Row = {
    path,
    takes: takesOf(schema),
    byDefault: written === undefined ? (optional ? 'none' : '**required**') : defaultText(written),
    about: descriptionOf(schema),
  };
  if (schema instanceof z.ZodObject) {
    const below = Object.entries(schema.shape as z.core.$ZodLooseShape).flatMap(([key, child]) =>
      rowsOf(child, at(key)),
    );
    return path === '' ? below : [{ ...own, takes: '', byDefault: '' }, ...below];
  }
  if (schema instanceof z.ZodRecord) {
    const below = rowsOf(schema.def.valueType, at('NAME'));
    return [own, ...(unwrap(schema.def.valueType).schema instanceof z.ZodObject ? below.slice(1) : below)];
  }
  return [own];
}

function takesOf(schema: z.core.$ZodType): string {
  const expected = expectationOf(schema) ?? 'text';
  if (!(schema instanceof z.ZodArray)) return expected;
  return `${expected}: each ${expectationOf(unwrap(schema.def.element).schema) ?? 'text'}`;
}

function descriptionOf(schema: z.core.$ZodType): string {
  return schema instanceof z.ZodType ? (schema.description ?? '') : '';
}

function defaultText(written: unknown): string {
  if (typeof written === 'object' && written !== null && !Array.isArray(written)) {
    const names = Object.keys(written);
    return names.length === 0 ? 'none' : names.map((name) => `\`${name}\``).join(', ');
  }
  if (Array.isArray(written)) return written.length === 0 ? 'empty' : `\`[${written.join(', ')}]\``;
  return `\`${String(written)}\``;
}
